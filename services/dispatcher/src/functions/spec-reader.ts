import { MAX_DOCUMENT_CHARACTERS } from '@parley/shared/foreign-document'
import { Problem } from '@parley/shared/problem'
import { createTaskProcess, type TaskEnd, type TaskProcess } from '@parley/shared/task-process/task-process'
import { LRUCache } from 'lru-cache'
import { ReadyThreads } from '../round-robin/ready-threads.ts'
import type { SpecResult, SpecTask } from './spec-task.ts'

const PROCESSES = 3
const MAX_WAITING = 1_000
const MAX_WAITING_OF_WORKSPACE = 250
const TASK_MS = 3_000
/** Milliseconds that a task may take at first: far more than an ordinary spec does. */
const FIRST_MS = 500
/** A spec whose last task took no longer is quick. */
const QUICK_MS = 250
const MAX_KNOWN = 10_000
const REFUSED_FOR_MS = 60_000

type SpecResponse = SpecResult | { kind: 'too_slow' }

type SpecProcess = TaskProcess<SpecTask, SpecResult>

/** Works with specs in processes of their own: they are somebody else's. */
export interface SpecReader {
  /**
   * `too_slow` after 3 s or 128 MB, and for a minute from then on; what is said of a spec as a whole holds so long, too.
   * Rejects with `unavailable` when 1,000 wait, or 250 of one workspace.
   */
  ask(task: SpecTask): Promise<SpecResponse>
  close(): Promise<void>
}

interface QueuedTask {
  task: SpecTask
  workspace: number
  channel: undefined
  resolve(answer: SpecResponse): void
  reject(error: Error): void
}

type QueueName = 'quick' | 'fresh' | 'late'

interface Taken {
  queued: QueuedTask
  queue: QueueName
  end(): void
}

/** Three processes, shared fairly: see {@link FairReader}. */
export function createSpecReader({
  taskMs = TASK_MS,
  firstMs = FIRST_MS,
}: {
  taskMs?: number
  firstMs?: number
} = {}): SpecReader {
  return new FairReader({ taskMs, firstMs })
}

const limits = (all: number) => {
  const one = { all, workspace: 1, channel: 1 }
  return { running: one, waiting: one }
}

/**
 * Round robin by workspace, with one task of a workspace at a time. Specs that were quick before come first and may
 * use every process; others all but one. What does not end within 500 ms is ended, and begins again behind all others,
 * with all of its time, as does what a workspace asks that has used up its own (1 s, and 0.1 s more with each second);
 * one process at most is at that. So workspaces whose specs take for ever delay their own.
 */
class FairReader implements SpecReader {
  readonly #queues = {
    quick: new ReadyThreads<QueuedTask>(limits(PROCESSES)),
    fresh: new ReadyThreads<QueuedTask>(limits(PROCESSES - 1)),
    late: new ReadyThreads<QueuedTask>(limits(1)),
  }
  readonly #times: { taskMs: number; firstMs: number }
  readonly #budget = createTimeBudget()
  readonly #idle: SpecProcess[]
  readonly #all: SpecProcess[]
  readonly #slow = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: REFUSED_FOR_MS })
  readonly #bad = new LRUCache<string, SpecResult>({ max: MAX_KNOWN, ttl: REFUSED_FOR_MS })
  readonly #quick = new LRUCache<string, true>({ max: MAX_KNOWN })
  /** Specs with a task that took longer than its first time. */
  readonly #long = new LRUCache<string, true>({ max: MAX_KNOWN })
  readonly #waiting = new Set<QueuedTask>()
  readonly #waitingOf = new Map<number, number>()
  /** Running tasks of specs that were not quick before. */
  #unsure = 0
  #closed = false

  constructor(times: { taskMs: number; firstMs: number }) {
    this.#times = times
    const module = new URL('./spec-worker.ts', import.meta.url)
    this.#all = Array.from({ length: PROCESSES }, () => createTaskProcess(module))
    this.#idle = [...this.#all]
  }

  ask(task: SpecTask): Promise<SpecResponse> {
    const { workspace } = task
    const known = this.#refused(task)
    if (known !== undefined && !this.#closed) return Promise.resolve(known)
    if (
      this.#closed ||
      this.#waiting.size >= MAX_WAITING ||
      (this.#waitingOf.get(workspace) ?? 0) >= MAX_WAITING_OF_WORKSPACE
    )
      return Promise.reject(unavailable('Too many specs are being read.'))
    return new Promise((resolve, reject) => {
      const queued = { task, workspace, channel: undefined, resolve, reject }
      this.#waiting.add(queued)
      this.#waitingOf.set(workspace, (this.#waitingOf.get(workspace) ?? 0) + 1)
      this.#queues[this.#queueOf(task)].add(queued)
      this.#start()
    })
  }

  #queueOf({ key }: SpecTask): QueueName {
    if (this.#long.has(key)) return 'late'
    return this.#quick.has(key) ? 'quick' : 'fresh'
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { reject } of this.#waiting) reject(unavailable('The service stops.'))
    this.#waiting.clear()
    await Promise.all(this.#all.map((one) => one.close()))
  }

  #start(): void {
    while (!this.#closed && this.#idle.length > 0) {
      const next = this.#take()
      if (next === undefined) return
      const { queued, queue, end } = next
      const known = this.#refused(queued.task)
      if (known !== undefined) {
        end()
        this.#respond(queued, known)
        continue
      }
      const idle = this.#idle.pop()
      if (idle === undefined) return
      if (queue !== 'quick') this.#unsure++
      void this.#work(idle, next).then(() => {
        if (queue !== 'quick') this.#unsure--
        end()
        this.#idle.push(idle)
        this.#start()
      })
    }
  }

  #take(): Taken | undefined {
    const { quick, fresh, late } = this.#queues
    const first = quick.take()
    if (first !== undefined) return { queued: first.item, queue: 'quick', end: first.slot.end }
    if (this.#unsure >= PROCESSES - 1) return undefined
    for (let next = fresh.take(); next !== undefined; next = fresh.take()) {
      const { item: queued, slot } = next
      if (!this.#budget.isSpent(queued.workspace)) return { queued, queue: 'fresh', end: slot.end }
      slot.end()
      late.add(queued)
    }
    const last = late.take()
    return last && { queued: last.item, queue: 'late', end: last.slot.end }
  }

  async #work(idle: SpecProcess, { queued, queue }: Taken): Promise<void> {
    const { task } = queued
    const { taskMs, firstMs } = this.#times
    const end = await idle.run(withoutRest(task), {
      taskMs: queue === 'late' ? taskMs : Math.min(firstMs, taskMs),
    })
    if (end.kind !== 'not_started') this.#budget.spend(queued.workspace, end.ms)
    if (end.kind === 'done' && end.ms <= QUICK_MS) this.#quick.set(task.key, true)
    else this.#quick.delete(task.key)
    if (end.kind === 'killed' && queue !== 'late' && !this.#closed) {
      this.#long.set(task.key, true)
      this.#queues.late.add(queued)
      return
    }
    if (end.kind === 'killed' && !this.#closed) this.#slow.set(task.key, true)
    if (end.kind === 'done' && end.result.kind === 'bad_spec' && isOfWhole(task))
      this.#bad.set(nameOf(task), end.result)
    this.#respond(queued, responseTo(end))
  }

  /** Returns the recent refusal of a spec that can't be worked with. */
  #refused(task: SpecTask): SpecResponse | undefined {
    return this.#slow.has(task.key) ? { kind: 'too_slow' } : this.#bad.get(nameOf(task))
  }

  #respond(queued: QueuedTask, response: SpecResponse | undefined): void {
    if (!this.#waiting.delete(queued)) return
    const left = (this.#waitingOf.get(queued.workspace) ?? 1) - 1
    if (left > 0) this.#waitingOf.set(queued.workspace, left)
    else this.#waitingOf.delete(queued.workspace)
    if (response === undefined) queued.reject(unavailable('Specs can not be read.'))
    else queued.resolve(response)
  }
}

/** No more of a spec that is too long than shows that it is: what is sent is serialised. */
function withoutRest(task: SpecTask): SpecTask {
  if (task.kind === 'server_tools' || task.spec.length <= MAX_DOCUMENT_CHARACTERS) return task
  return { ...task, spec: task.spec.slice(0, MAX_DOCUMENT_CHARACTERS + 1) }
}

const isOfWhole = ({ kind }: SpecTask): boolean => kind === 'operations' || kind === 'tools'
const nameOf = ({ kind, key }: SpecTask): string => `${kind} ${key}`

/** Undefined when it could not be asked. */
function responseTo(end: TaskEnd<SpecResult>): SpecResponse | undefined {
  if (end.kind === 'done') return end.result
  return end.kind === 'killed' ? { kind: 'too_slow' } : undefined
}

const unavailable = (detail: string) => new Problem('unavailable', { detail })

/** Milliseconds that a workspace may use at once, and the part of the time that it gets back. */
const BUDGET_MS = 1_000
const REFILL = 0.1
const MAX_WORKSPACES = 10_000

/** The time that each workspace has used lately (a token bucket). */
interface TimeBudget {
  isSpent(workspace: number): boolean
  spend(workspace: number, milliseconds: number): void
}

/** `now` is monotonic, in milliseconds. */
export function createTimeBudget(now: () => number = () => performance.now()): TimeBudget {
  const used = new LRUCache<number, { ms: number; at: number }>({ max: MAX_WORKSPACES })
  const usedBy = (workspace: number) => {
    const { ms, at } = used.get(workspace) ?? { ms: 0, at: now() }
    return Math.max(0, ms - (now() - at) * REFILL)
  }
  return {
    isSpent: (workspace) => usedBy(workspace) >= BUDGET_MS,
    spend(workspace, milliseconds) {
      used.set(workspace, { ms: usedBy(workspace) + milliseconds, at: now() })
    },
  }
}
