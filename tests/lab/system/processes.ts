import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const START_MS = 30_000
const CHECK_MS = 100
// Of the clock that Linux counts processor time by.
const TICKS_A_SECOND = 100
// In /proc/PID/stat after the name: user and system time, and both of the children that have ended.
const [FIRST_TIME, TIMES] = [11, 4]

/** A process that a benchmark has started. */
export interface Runner {
  pid: number
  kill(signal: NodeJS.Signals): void
  /** `SIGTERM`, or another signal; waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** The processes that a benchmark has started. */
interface Processes {
  run(command: string, args: string[], env: Record<string, string>): Runner
  /** Ends all of them and waits. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export function startProcesses(): Processes {
  const runners: Runner[] = []
  return {
    run(command, args, env) {
      const child = spawn(command, args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, ...env },
      })
      const ended = once(child, 'exit')
      const runner: Runner = {
        pid: child.pid ?? 0,
        kill: (signal) => void child.kill(signal),
        stop: async (signal = 'SIGTERM') => {
          child.kill(signal)
          await ended
        },
      }
      runners.push(runner)
      return runner
    },
    stop: async (signal) => {
      await Promise.all(runners.map((runner) => runner.stop(signal)))
    },
  }
}

/** Waits until something responds there, whatever it says; throws after 30 s. */
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

/** Returns the processor seconds that a process has used so far, with its threads and its ended children. */
export function cpuSeconds({ pid }: { pid?: number | undefined }): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  const ticks = fields.slice(FIRST_TIME, FIRST_TIME + TIMES).reduce((all, field) => all + Number(field), 0)
  return ticks / TICKS_A_SECOND
}

/** Returns the processor seconds of the machine so far, for all processes; also those that another machine took. */
export function machineSeconds(): number {
  const [, ...fields] = (/^cpu .*$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0] ?? '').split(/\s+/)
  const [user = 0, nice = 0, system = 0, _idle, _waiting, irq = 0, softIrq = 0, stolen = 0] =
    fields.map(Number)
  return (user + nice + system + irq + softIrq + stolen) / TICKS_A_SECOND
}

/** The memory that a process has at the moment, in KiB. */
export function residentKib({ pid }: { pid?: number | undefined }): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** The same in MiB. */
export function residentMib(process: { pid?: number | undefined }): number {
  return Math.round(residentKib(process) / 1024)
}

const LAST = availableParallelism() - 1
const canPin = LAST > 0 && spawnSync('taskset', ['--version']).status === 0

/** Keeps this process and what it starts from now on off the last core. Does nothing where there is one core. */
export function leaveLastCore(): void {
  if (canPin) execFileSync('taskset', ['-acp', `0-${LAST - 1}`, String(process.pid)])
}

/** The command, with its arguments, that runs Node (or another program) with `args` on the last core alone. */
export function onLastCore(args: string[], program = process.execPath): [command: string, args: string[]] {
  return canPin ? ['taskset', ['-c', String(LAST), program, ...args]] : [program, args]
}

/** The resources that a process holds at the moment. */
export interface Holding {
  mebibytes: number
  sockets: number
}

/** Returns the resources that each process holds, by name; without processes that are gone. */
export function readHoldings(pids: Record<string, number>): Record<string, Holding> {
  return Object.fromEntries(
    Object.entries(pids).flatMap(([name, pid]) => {
      try {
        return [
          [
            name,
            {
              mebibytes: (residentKib({ pid }) || 0) / 1_024,
              sockets: descriptorsOf(pid).filter((target) => target.startsWith('socket:')).length,
            },
          ],
        ]
      } catch {
        return []
      }
    }),
  )
}

/** Returns the targets of the open descriptors of a process, as `socket:[4711]`. */
export function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${folder}/${descriptor}`)]
    } catch {
      // Closed meanwhile.
      return []
    }
  })
}
