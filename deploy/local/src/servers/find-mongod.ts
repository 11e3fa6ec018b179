import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE_DIRECTORY } from '../checkout.ts'
import { SetupError } from '../setup-error.ts'
import { findBinary } from './find-binary.ts'
import type { ServerContext } from './server.ts'
import { canRunWine, findWineMongod, type Mongod } from './wine-mongod.ts'

// Change streams with pre-images came with 6.0.
const OLDEST_MAJOR = 6
const VERSION_MS = 10_000
const VERSION = '8.0.15'
const SITE = 'https://fastdl.mongodb.org/'
const PROBE_MS = 5_000
const DOWNLOAD_MS = 600_000
const RETRY_AFTER_MS = 24 * 60 * 60 * 1_000

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
    download: async () => undefined,
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

/**
 * The path of the official mongod, downloaded on the first call. Undefined when the site is out of reach or
 * has no build for this system, which is remembered for a day.
 */
async function downloadMongod({ say, signal }: ServerContext): Promise<string | undefined> {
  const downloadDir = join(CACHE_DIRECTORY, 'mongodb')
  await mkdir(downloadDir, { recursive: true })
  const failure = join(CACHE_DIRECTORY, 'mongodb-download-failed')
  if (await failedLately(failure)) return undefined
  try {
    const { MongoBinary } = await import('mongodb-memory-server-core/lib/util/MongoBinary.js')
    const { DryMongoBinary } = await import('mongodb-memory-server-core/lib/util/DryMongoBinary.js')
    const present = await DryMongoBinary.locateBinary(
      await DryMongoBinary.generateOptions({ version: VERSION, downloadDir }),
    )
    if (present) return present
    await fetch(SITE, { method: 'HEAD', signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]) })
    say(`Downloading MongoDB ${VERSION} …`)
    return await Promise.race([
      MongoBinary.getPath({ version: VERSION, downloadDir }),
      failAfter(DOWNLOAD_MS, signal),
    ])
  } catch {
    signal.throwIfAborted()
    await writeFile(failure, new Date().toISOString())
    return undefined
  }
}

async function failedLately(file: string): Promise<boolean> {
  const at = Date.parse(await readFile(file, 'utf8').catch(() => ''))
  return Date.now() - at < RETRY_AFTER_MS
}

function failAfter(milliseconds: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new Error('The download took too long'))
    setTimeout(end, milliseconds).unref()
    signal.addEventListener('abort', end, { once: true })
  })
}
