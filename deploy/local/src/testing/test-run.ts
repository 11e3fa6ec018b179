import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeApiDocument } from '../api-document.ts'
import { CACHE_DIRECTORY } from '../checkout.ts'
import { findOwned, ownerMark, startReaper, stopOwned } from '../processes/owned.ts'
import { prepareServers } from '../servers/start-servers.ts'
import { waitUntil } from '../wait-until.ts'
import { ServerHost } from './server-host.ts'
import { TEST_DIRECTORY, TEST_HOST, VHOSTS } from './test-environment.ts'

const EXIT_MS = 5_000
const MEMORY_FOLDER = '/dev/shm'
const ENOUGH_MEMORY = 8 * 1024 ** 3

export interface TestRun {
  /** True when a server that the tests share ended by itself since `at` (of `performance.now()`). */
  hasLostServerSince(at: number): boolean
  /** Stops the servers and throws when a process that a test started is still there. */
  end(): Promise<void>
  /** Stops everything at once. */
  abort(): Promise<void>
}

/**
 * Gets the servers of one run of the tests ready, in a fresh temporary folder. They are started when the
 * first test asks for them, so a run of pure unit tests does without. Rejects when `signal` aborts.
 */
export async function startTestRun(signal: AbortSignal): Promise<TestRun> {
  const directory = await mkdtemp(join(await folderForServers(), 'parley-test-'))
  const reaper = startReaper({ directory, remove: true })
  const abort = async () => {
    await stopOwned(directory, { graceMs: 0 })
    await reaper.close()
    await rm(directory, { recursive: true, force: true })
  }
  // Workers, and whatever the tests start, inherit the mark, and load what others have compiled.
  const compiled = { NODE_COMPILE_CACHE: join(CACHE_DIRECTORY, 'compiled') }
  Object.assign(process.env, ownerMark(directory), compiled, { [TEST_DIRECTORY]: directory })
  try {
    const say = (line: string) => void process.stderr.write(`${line}\n`)
    const servers = join(directory, 'servers')
    await makeApiDocument({ owner: directory, signal })
    const prepared = await prepareServers({
      directory: servers,
      say,
      vhosts: VHOSTS,
      signal,
      testCommands: true,
    })
    const host = new ServerHost(prepared, say)
    process.env[TEST_HOST] = await host.listen()
    const hasLostServerSince = (at: number) => host.hasLostServerSince(at)
    return { end: () => endRun({ directory, host, abort }), abort, hasLostServerSince }
  } catch (error) {
    await abort()
    throw error
  }
}

/** Memory where there is enough of it: most of what the tests' servers do is wait for the disk. */
async function folderForServers(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY_FOLDER)
    if (Math.min(bavail * bsize, process.availableMemory()) > ENOUGH_MEMORY) return MEMORY_FOLDER
  } catch {
    // Only Linux has such a folder.
  }
  return tmpdir()
}

async function endRun(run: { directory: string; host: ServerHost; abort(): Promise<void> }): Promise<void> {
  await run.host.close()
  await waitUntil(() => findOwned(run.directory).length === 0, { timeoutMs: EXIT_MS })
  const left = findOwned(run.directory)
  await run.abort()
  if (left.length > 0) throw new Error(describe(left))
}

function describe(left: { pid: number; command: string }[]): string {
  const lines = left.map(({ pid, command }) => `  ${pid} ${command.slice(0, 200)}`)
  return `The tests left processes running:\n${lines.join('\n')}`
}
