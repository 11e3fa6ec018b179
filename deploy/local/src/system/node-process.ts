import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CHECKOUT } from '../checkout.ts'
import { ownerMark } from '../processes/owned.ts'
import type { Listener, ProcessPlan } from './plan-processes.ts'

const BECOME = fileURLToPath(new URL('become-process.ts', import.meta.url))
const MAX_LINE = 16_384
const FIRST_DELAY_MS = 200
const LAST_DELAY_MS = 10_000
const HEALTHY_MS = 30_000

/** One process of a system. It ends by itself when this process does, whose end of its channel then closes. */
export class NodeProcess {
  readonly name: string
  readonly listeners: readonly Listener[]
  readonly #plan: ProcessPlan
  readonly #owner: string
  readonly #say: (line: string) => void
  readonly #watch: boolean
  #child: ChildProcess
  #exited: Promise<void>

  /** `loaded` has what {@link loadProcess} returned for the script; it is used for the first run. */
  constructor(options: {
    plan: ProcessPlan
    owner: string
    say(line: string): void
    loaded?: ChildProcess | undefined
    /** Starts it anew whenever one of its modules changes. */
    watch?: boolean | undefined
  }) {
    this.name = options.plan.name
    this.listeners = options.plan.listeners
    this.#plan = options.plan
    this.#owner = options.owner
    this.#say = options.say
    this.#watch = options.watch === true
    this.#child = this.#become(options.loaded) ?? this.#spawn()
    this.#exited = exitOf(this.#child)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Settles when the present run ends. */
  get exited(): Promise<void> {
    return this.#exited
  }

  /** Starts it again after it ended. */
  async restart(): Promise<void> {
    this.#child = this.#spawn()
    this.#exited = exitOf(this.#child)
  }

  /** SIGTERM; SIGKILL when it is still there `graceMs` later. Returns once it is gone. */
  async stop(options: { graceMs: number }): Promise<void> {
    const child = this.#child
    const kill = setTimeout(() => child.kill('SIGKILL'), options.graceMs)
    child.kill('SIGTERM')
    await this.#exited
    clearTimeout(kill)
  }

  #spawn(): ChildProcess {
    const env = { ...this.#plan.env, ...ownerMark(this.#owner) }
    const child = spawnNode(
      [
        ...this.#plan.nodeArguments,
        ...(this.#watch ? ['--watch', '--watch-preserve-output'] : []),
        this.#plan.script,
      ],
      env,
    )
    this.#sayAll(child)
    return child
  }

  /** Nothing when it has ended already. */
  #become(loaded: ChildProcess | undefined): ChildProcess | undefined {
    if (loaded?.connected !== true) return undefined
    loaded.send(this.#plan.env)
    this.#sayAll(loaded)
    return loaded
  }

  #sayAll({ stdout, stderr }: ChildProcess): void {
    for (const stream of [stdout, stderr]) if (stream) this.#sayLines(stream)
  }

  #sayLines(stream: Readable): void {
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) =>
      this.#say(`${this.name.padEnd(13)} ${line.slice(0, MAX_LINE)}`),
    )
  }
}

/** Starts a process that loads its modules and waits for a {@link NodeProcess} to take it over. */
export function loadProcess(options: {
  script: string
  nodeArguments: string[]
  owner: string
}): ChildProcess {
  const { script, nodeArguments, owner } = options
  return spawnNode([...nodeArguments, BECOME, script], ownerMark(owner))
}

function spawnNode(args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, args, {
    cwd: CHECKOUT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...env },
  })
}

async function exitOf(child: ChildProcess): Promise<void> {
  // A process that can't be spawned reports an error instead of an exit.
  await Promise.race([once(child, 'exit'), once(child, 'error')]).catch(() => undefined)
}

/** Something that runs, may end by itself, and can be started again. */
export interface Restartable {
  readonly name: string
  readonly exited: Promise<void>
  restart(): Promise<void>
}

/**
 * Starts `subject` again whenever it ends, until `signal` aborts: after 0.2 s, then twice as long each time up
 * to 10 s (or `lastDelayMs`), and from the start again once it has lived for 30 s.
 */
export async function restartOnExit(
  subject: Restartable,
  options: { say(line: string): void; onRestart(): void; signal: AbortSignal; lastDelayMs?: number },
): Promise<void> {
  const { say, onRestart, signal, lastDelayMs = LAST_DELAY_MS } = options
  const stopped = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  let delayMs = FIRST_DELAY_MS
  while (!signal.aborted) {
    const since = performance.now()
    await Promise.race([subject.exited, stopped])
    if (signal.aborted) return
    if (performance.now() - since > HEALTHY_MS) delayMs = FIRST_DELAY_MS
    say(`${subject.name} ended; starting it again in ${delayMs / 1_000} s.`)
    await Promise.race([pause(delayMs), stopped])
    delayMs = Math.min(delayMs * 2, lastDelayMs)
    if (signal.aborted) return
    await Promise.race([restart(subject, say), stopped])
    if (!signal.aborted) onRestart()
  }
}

/** When it fails, the subject counts as ended still, so the next attempt follows. */
async function restart(subject: Restartable, say: (line: string) => void): Promise<void> {
  try {
    await subject.restart()
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
  }
}
