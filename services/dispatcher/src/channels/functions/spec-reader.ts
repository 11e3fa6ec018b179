import { Problem } from '@parley/shared/problem'
import { LRUCache } from 'lru-cache'
import { ReadyThreads } from '../../round-robin/ready-threads.ts'
import type { SpecResult, SpecTask } from './spec-task.ts'
import { createSpecThread, type SpecThread, type TaskEnd } from './spec-thread.ts'

const THREADS = 3
const MAX_WAITING = 1_000
const MAX_WAITING_OF_WORKSPACE = 250
const TASK_MS = 3_000
/** A spec whose last task took no longer is quick. */
const QUICK_MS = 250
const MAX_KNOWN = 10_000
const SLOW_FOR_MS = 60_000

type SpecResponse = SpecResult | { kind: 'too_slow' }

/** Works with specs outside the event loop: they are somebody else's. */
export interface SpecReader {
  /** `too_slow` after 3 s, and for a minute from then on. Rejects with `unavailable` when 1,000 wait, or 250 of one workspace. */
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

/** Three threads, shared fairly: see {@link FairReader}. */
export function createSpecReader({ taskMs = TASK_MS }: { taskMs?: number } = {}): SpecReader {
  return new FairReader(taskMs)
}

const limits = (all: number) => {
  const one = { all, workspace: 1, channel: 1 }
  return { running: one, waiting: one }
}

/**
 * Round robin by workspace, with one task of a workspace at a time. Specs that were quick before come first and may
 * use every thread; others all but one; those of a workspace that has used up its time (1 s, and 0.1 s more with each
 * second) come last. So a workspace whose specs take for ever delays its own.
 */
class FairReader implements SpecReader {
  readonly #queues = {
    quick: new ReadyThreads<QueuedTask>(limits(THREADS)),
    fresh: new ReadyThreads<QueuedTask>(limits(THREADS - 1)),
    late: new ReadyThreads<QueuedTask>(limits(THREADS - 1)),
  }
  readonly #budget = createTimeBudget()
  readonly #idle: SpecThread[]
  readonly #all: SpecThread[]
  readonly #slow = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: SLOW_FOR_MS })
  readonly #quick = new LRUCache<string, true>({ max: MAX_KNOWN })
  readonly #waiting = new Set<QueuedTask>()
  readonly #waitingOf = new Map<number, number>()
  /** Running tasks of specs that were not quick before. */
  #unsure = 0
  #closed = false

  constructor(taskMs: number) {
    this.#all = Array.from({ length: THREADS }, () => createSpecThread({ taskMs }))
    this.#idle = [...this.#all]
  }

  ask(task: SpecTask): Promise<SpecResponse> {
    const { workspace } = task
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
      this.#queues[this.#quick.has(task.key) ? 'quick' : 'fresh'].add(queued)
      this.#start()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { reject } of this.#waiting) reject(unavailable('The service stops.'))
    this.#waiting.clear()
    await Promise.all(this.#all.map((thread) => thread.close()))
  }

  #start(): void {
    while (!this.#closed && this.#idle.length > 0) {
      const next = this.#take()
      if (next === undefined) return
      const { queued, isQuick, end } = next
      if (this.#slow.has(queued.task.key)) {
        end()
        this.#respond(queued, { kind: 'too_slow' })
        continue
      }
      const thread = this.#idle.pop()
      if (thread === undefined) return
      if (!isQuick) this.#unsure++
      void this.#work(thread, queued).then(() => {
        if (!isQuick) this.#unsure--
        end()
        this.#idle.push(thread)
        this.#start()
      })
    }
  }

  #take(): { queued: QueuedTask; isQuick: boolean; end(): void } | undefined {
    const { quick, fresh, late } = this.#queues
    const first = quick.take()
    if (first !== undefined) return { queued: first.item, isQuick: true, end: first.slot.end }
    if (this.#unsure >= THREADS - 1) return undefined
    for (let next = fresh.take(); next !== undefined; next = fresh.take()) {
      const { item: queued, slot } = next
      if (!this.#budget.isSpent(queued.workspace)) return { queued, isQuick: false, end: slot.end }
      slot.end()
      late.add(queued)
    }
    const last = late.take()
    return last === undefined ? undefined : { queued: last.item, isQuick: false, end: last.slot.end }
  }

  async #work(thread: SpecThread, queued: QueuedTask): Promise<void> {
    const { end, ms } = await thread.run(queued.task)
    this.#budget.spend(queued.workspace, ms)
    if (end.kind === 'too_slow' || ms > QUICK_MS) this.#quick.delete(queued.task.key)
    else this.#quick.set(queued.task.key, true)
    if (end.kind === 'too_slow' && !this.#closed) this.#slow.set(queued.task.key, true)
    this.#respond(queued, end)
  }

  #respond(queued: QueuedTask, end: TaskEnd): void {
    if (!this.#waiting.delete(queued)) return
    const left = (this.#waitingOf.get(queued.workspace) ?? 1) - 1
    if (left > 0) this.#waitingOf.set(queued.workspace, left)
    else this.#waitingOf.delete(queued.workspace)
    if (end.kind === 'not_started') queued.reject(unavailable('Specs can not be read.'))
    else queued.resolve(end)
  }
}

const unavailable = (detail: string) => new Problem('unavailable', { detail })

/** What a workspace may use at once, in milliseconds, and the part of the time that it gets back. */
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
