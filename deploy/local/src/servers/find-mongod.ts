import { execFileSync } from 'node:child_process'
import { SetupError } from '../setup-error.ts'
import { downloadMongod } from './download-mongod.ts'
import { findBinary } from './find-binary.ts'
import type { ServerContext } from './server.ts'
import { canRunWine, findWineMongod } from './wine-mongod.ts'

// Change streams with pre-images came with 6.0.
const OLDEST_MAJOR = 6
const VERSION_MS = 10_000

/** A mongod that can be run on this machine. */
export interface Mongod {
  source: string
  packages: string[]
  /** How a path of this machine reads to it. */
  pathForMongod(path: string): string
  /** Fetches what it needs, once the packages are there. */
  prepare(): Promise<void>
  /** What to run; `directory` is its own folder. */
  command(directory: string): Promise<{ command: string; args: string[]; env: Record<string, string> }>
}

/** The first of: `mongod` on the PATH, the official download, the Windows build under Wine. */
export async function findMongod(context: ServerContext): Promise<Mongod> {
  const installed = findBinary('mongod')
  if (installed && majorVersion(installed) >= OLDEST_MAJOR)
    return nativeMongod(installed, 'mongod on this machine')
  const downloaded = await downloadMongod(context)
  if (downloaded && majorVersion(downloaded) >= OLDEST_MAJOR) {
    return nativeMongod(downloaded, 'official download')
  }
  if (canRunWine()) return findWineMongod(context)
  throw new SetupError(
    `There is no MongoDB ${OLDEST_MAJOR} or later on this machine and its download site is out of reach. ` +
      'Install mongod, start a Docker engine, or name a running replica set with MONGO_URL.',
  )
}

function nativeMongod(command: string, source: string): Mongod {
  return {
    source,
    packages: [],
    pathForMongod: (path) => path,
    prepare: async () => undefined,
    command: async () => ({ command, args: [], env: {} }),
  }
}

/** 0 when it does not run here, as on a processor that it is not made for. */
function majorVersion(mongod: string): number {
  try {
    const text = execFileSync(mongod, ['--version'], { encoding: 'utf8', timeout: VERSION_MS })
    return Number(/db version v(\d+)\./.exec(text)?.[1] ?? 0)
  } catch {
    return 0
  }
}
