import type { ChildProcess } from 'node:child_process'
import { open } from 'node:fs/promises'
import { spawnOwned, stopOwned } from '../processes/owned.ts'
import { SetupError } from '../setup-error.ts'
import { waitUntil } from '../wait-until.ts'
import type { Server } from './server.ts'

const START_MS = 90_000
const STOP_MS = 15_000
const LOOK_MS = 1_000
const CRASH_MS = 3_000
const READ_BYTES = 64 * 1024

interface Run {
  child: ChildProcess
  exited: Promise<void>
}

interface NativeServerOptions {
  name: string
  url: string
  source: string
  /** Its own folder: everything of it is in there, and its processes are known by it. */
  directory: string
  logFile: string
  command: string
  args: string[]
  env: Record<string, string>
  isReady(): Promise<boolean>
  /** The text that it logs when it crashes. If it has not ended 3 s later, it hangs in the crash and is killed. */
  crashText?: string
  /** A cleaner way to stop it than SIGTERM. */
  askToStop?(): Promise<void>
  signal: AbortSignal
}

/** Starts a server as a process of this machine and waits until it is ready, at most 90 s. */
export async function startNativeServer(options: NativeServerOptions): Promise<Server> {
  const closing = new AbortController()
  const signal = AbortSignal.any([options.signal, closing.signal])
  let run = await startRun(options, signal)
  let restarted: Promise<void> = Promise.resolve()
  return {
    name: options.name,
    url: options.url,
    source: options.source,
    logFile: options.logFile,
    get pid() {
      return run.child.pid
    },
    get exited() {
      return run.exited
    },
    isReady: options.isReady,
    restart() {
      restarted = (async () => {
        await stopRun(options, run)
        run = await startRun(options, signal)
      })()
      return restarted
    },
    async stop() {
      closing.abort()
      await Promise.allSettled([restarted])
      await stopRun(options, run)
    },
  }
}

async function startRun(options: NativeServerOptions, signal: AbortSignal): Promise<Run> {
  signal.throwIfAborted()
  const child = spawnOwned(options)
  let failure: Error | undefined
  let ended = false
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      failure = error
    })
    child.once('close', () => {
      ended = true
      resolve()
    })
  })
  try {
    const check = async () => ended || (await options.isReady())
    const isReady = await waitUntil(check, { timeoutMs: START_MS, signal })
    if (isReady && !ended) {
      killHungCrash(options, child)
      return { child, exited }
    }
  } catch (error) {
    await stopOwned(options.directory, { graceMs: 0 })
    throw error
  }
  const how =
    failure?.message ??
    (ended ? `it ended while starting (code ${child.exitCode})` : 'it was not ready in time')
  await stopOwned(options.directory, { graceMs: 0 })
  throw new SetupError(
    `${options.name} did not start: ${how}. Its log is ${options.logFile}. If its data is damaged, move ` +
      `${options.directory} away to begin with empty data.`,
  )
}

/** A crash that hangs while it is logged would not count as an end, and nothing would start the server again. */
function killHungCrash({ crashText, logFile, directory }: NativeServerOptions, child: ChildProcess): void {
  if (crashText === undefined) return
  let [position, last] = [0, '']
  const look = async () => {
    const file = await open(logFile)
    try {
      const { size } = await file.stat()
      position = Math.max(position, size - READ_BYTES)
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(READ_BYTES), position })
      position += bytesRead
      last = `${last}${buffer.toString('latin1', 0, bytesRead)}`.slice(-READ_BYTES - crashText.length)
    } finally {
      await file.close()
    }
    if (!last.includes(crashText)) return
    clearInterval(timer)
    const kill = () => void stopOwned(directory, { graceMs: 0 })
    const killing = setTimeout(kill, CRASH_MS).unref()
    child.once('close', () => clearTimeout(killing))
  }
  const timer = setInterval(() => void look().catch(() => undefined), LOOK_MS).unref()
  child.once('close', () => clearInterval(timer))
}

/** Helpers such as epmd and wineserver outlive the server itself, so what is left is swept by its mark. */
async function stopRun(options: NativeServerOptions, { child, exited }: Run): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const terminate = () => child.kill('SIGTERM')
    if (options.askToStop) await options.askToStop().catch(terminate)
    else terminate()
    await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, STOP_MS).unref())])
  }
  await stopOwned(options.directory, { graceMs: 0 })
}
