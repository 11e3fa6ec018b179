import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const START_MS = 30_000
const CHECK_MS = 100
// Of the clock that Linux counts processor time by.
const TICKS_A_SECOND = 100

/** The processes that a benchmark has started. */
export interface Processes {
  run(command: string, args: string[], env: Record<string, string>): ChildProcess
  /** Ends all of them (SIGTERM) and waits. */
  stop(): Promise<void>
}

export function startProcesses(): Processes {
  const children: ChildProcess[] = []
  return {
    run(command, args, env) {
      const child = spawn(command, args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, ...env },
      })
      children.push(child)
      return child
    },
    stop: async () => {
      await Promise.all(children.map(stop))
    },
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

/** Waits until something answers there, whatever it says; throws after 30 s. */
export async function listening(url: string): Promise<void> {
  const until = performance.now() + START_MS
  for (;;) {
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response !== undefined) return
    if (performance.now() > until) throw new Error(`${url} does not listen`)
    await pause(CHECK_MS)
  }
}

/** Runs a program to its end and resolves with what it printed; rejects when it fails. */
export async function outputOf(
  command: string,
  args: string[],
  env: Record<string, string>,
): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { env: { ...process.env, ...env } })
  return stdout
}

/** What a process has used of processors so far, in seconds, its threads included. */
export function cpuSeconds({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

/** The memory that a process has at the moment, in MiB. */
export function residentMib({ pid }: ChildProcess): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}
