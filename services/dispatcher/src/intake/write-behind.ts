import type { ThreadLog } from '../conversations/thread-log.ts'
import type { LeasedMessages } from '../deliver/written-message.ts'
import { advanced, type MessageRecord, type Progress } from '../message/message-record.ts'
import { ChurnMap } from '../schedule/churn-map.ts'
import type { Committer } from '../store/commit.ts'
import type { Traffic } from '../store/traffic.ts'
import type { IntakeStore, StoreResult } from './intake-store.ts'
import { PrefetchShares } from './prefetch-shares.ts'

/** How long a message may run without being stored, in milliseconds. */
const UNSTORED_MS = 500
const CHECK_EVERY_MS = 100

/**
 * Where a message stands that runs before it is stored.
 *
 *     running ───▶ queued ───▶ inserting ──┬──▶ stored
 *        │           │             │       └──▶ known
 *        └───────────┴─────────────┴──────────▶ abandoned
 *
 * - `running`: it is in memory alone. Progress changes it there.
 * - `queued`: it waits for an insert. Progress still changes it, and is inserted with it.
 * - `inserting`: the statement is running, with the message as it was. Progress waits for the result.
 * - `stored`: we have inserted it. Progress is committed to the store.
 * - `known`: its id was in the store already. Progress is refused, and the thread reads the store.
 * - `abandoned`: the lease has ended, or we stop. Progress is refused; the broker delivers it to the next owner of the lease.
 *
 * A message becomes `queued` when it ends, when it must be in the store before something happens (a claim), when
 * its thread has it no longer in memory, when it is the oldest of more than its workspace may run unstored, and after
 * half a second. The last three states are final.
 */
type UnstoredState = 'running' | 'queued' | 'inserting' | StoreResult

interface Unstored {
  state: UnstoredState
  record: MessageRecord
  arrivedAt: number
  result: PromiseWithResolvers<StoreResult>
}

/** Lets messages run before they are stored, so that one that ends at once is written once: whole. */
export interface WriteBehind extends LeasedMessages {
  /** How it ends with the message of this id; undefined when none runs that is not stored. */
  resultOf(id: string): Promise<StoreResult> | undefined
  /** A message runs that is not stored yet. Another one of its id must not be running unstored. */
  begin(record: MessageRecord): Promise<StoreResult>
  /** Stores it now, where it is not stored yet; undefined where it is, or where it is another delivery of its id. */
  store(record: Pick<MessageRecord, '_id' | 'order'>): Promise<StoreResult> | undefined
  /** Stores what runs unstored of a thread, in the sequence in which it was received; resolves once that has ended. */
  storeThread(thread: Pick<MessageRecord, 'workspace' | 'thread'>): Promise<unknown>
  /** Waits for the answers of handlers no more. */
  handOver(): void
  /** Stores what has begun and abandons the rest; the threads have stopped. */
  close(): Promise<void>
  /** Abandons everything. */
  abandon(): void
}

export function createWriteBehind(options: {
  /** Of this term of the lease alone, so that a claim of another term is never taken for one of this. */
  writer: string
  /** True while the lease is valid. */
  isLeased(): boolean
  store: Pick<IntakeStore, 'insert'>
  committer: Committer
  /** Sees each message as it was stored. */
  threadLog: Pick<ThreadLog, 'touch'>
  traffic: Pick<Traffic, 'accepted'>
}): WriteBehind {
  return new PartitionWriteBehind(options)
}

class PartitionWriteBehind implements WriteBehind {
  readonly #options: Parameters<typeof createWriteBehind>[0]
  /** In the sequence in which they were received. Each is removed when its state is final. */
  readonly #unstored = new ChurnMap<string, Unstored>()
  readonly #shares = new PrefetchShares<Unstored>({ isRunning: ({ state }) => state === 'running' })
  /** Runs while there is something that is not stored. */
  #timer: NodeJS.Timeout | undefined
  readonly #handOver = new AbortController()
  readonly #end = new AbortController()
  #closed = false

  constructor(options: Parameters<typeof createWriteBehind>[0]) {
    this.#options = options
  }

  resultOf(id: string): Promise<StoreResult> | undefined {
    return this.#unstored.get(id)?.result.promise
  }

  isLeased(): boolean {
    return this.#options.isLeased()
  }

  get ended(): AbortSignal {
    return this.#end.signal
  }

  get handedOver(): AbortSignal {
    return this.#handOver.signal
  }

  handOver(): void {
    this.#handOver.abort()
  }

  begin(record: MessageRecord): Promise<StoreResult> {
    if (this.#closed) return Promise.resolve('abandoned')
    const result = Promise.withResolvers<StoreResult>()
    const unstored: Unstored = { state: 'running', record, arrivedAt: performance.now(), result }
    this.#unstored.set(record._id, unstored)
    this.#timer ??= setInterval(() => this.#storeOld(), CHECK_EVERY_MS)
    for (const oldest of this.#shares.began(record.workspace, unstored)) void this.#store(oldest)
    return result.promise
  }

  store({ _id, order }: Pick<MessageRecord, '_id' | 'order'>): Promise<StoreResult> | undefined {
    const unstored = this.#unstored.get(_id)
    return unstored?.record.order === order ? this.#store(unstored) : undefined
  }

  storeThread({ workspace, thread }: Pick<MessageRecord, 'workspace' | 'thread'>): Promise<unknown> {
    const ofThread = [...this.#unstored.values()].filter(
      ({ record }) => record.workspace === workspace && record.thread === thread,
    )
    return Promise.all(ofThread.map((unstored) => this.#store(unstored)))
  }

  async commit(
    record: MessageRecord,
    progress: Progress,
    { deferrable = false } = {},
  ): Promise<MessageRecord | undefined> {
    const unstored = this.#unstored.get(record._id)
    // Another order is another delivery of the same id: that one was stored first.
    if (unstored === undefined || unstored.record.order !== record.order)
      return this.#commitStored(record, progress)
    const { state, result } = unstored
    if (state === 'running' || state === 'queued')
      return this.#commitUnstored(unstored, { record, progress, deferrable })
    return (await result.promise) === 'stored' ? this.#commitStored(record, progress) : undefined
  }

  async ensureStored(record: MessageRecord): Promise<boolean> {
    const result = this.store(record)
    return result === undefined || (await result) === 'stored'
  }

  async release(record: MessageRecord, indexes: readonly number[]): Promise<void> {
    const unstored = this.#unstored.get(record._id)
    if (unstored?.record.order === record.order) {
      const { state } = unstored
      if (state === 'running' || state === 'queued') return releaseUnstored(unstored, record, indexes)
      await unstored.result.promise
    }
    const { committer, writer } = this.#options
    await committer.release({ _id: record._id, revision: record.revision + 1, writer }, indexes)
  }

  async close(): Promise<void> {
    const begun = [...this.#unstored.values()].filter(
      ({ state, record }) => state !== 'running' || record.revision > 0,
    )
    await Promise.all(begun.map((unstored) => this.#store(unstored)))
    this.abandon()
  }

  abandon(): void {
    this.#closed = true
    this.handOver()
    this.#end.abort()
    this.#stopTimer()
    for (const unstored of this.#unstored.values()) this.#settle(unstored, 'abandoned')
  }

  async #commitStored(record: MessageRecord, progress: Progress): Promise<MessageRecord | undefined> {
    const { committer, writer, threadLog } = this.#options
    const written = await committer.commit(record, progress, writer)
    if (!written) return undefined
    const next = advanced(record, progress)
    next.updatedAt = new Date()
    threadLog.touch(next)
    return next
  }

  async #commitUnstored(
    unstored: Unstored,
    commit: { record: MessageRecord; progress: Progress; deferrable: boolean },
  ): Promise<MessageRecord | undefined> {
    const { record, progress, deferrable } = commit
    if (unstored.record.revision !== record.revision) return undefined
    const next = advanced(record, progress)
    // Only a claim has to be told apart from those of others.
    next.writer = progress.open === true ? this.#options.writer : undefined
    next.updatedAt = new Date()
    unstored.record = next
    if (deferrable && progress.open === true) return next
    const result = this.#store(unstored)
    return deferrable || (await result) === 'stored' ? next : undefined
  }

  #store(unstored: Unstored): Promise<StoreResult> {
    if (unstored.state !== 'running') return unstored.result.promise
    unstored.state = 'queued'
    this.#shares.ended(unstored.record.workspace)
    const inserted = this.#options.store.insert({
      isLeased: () => unstored.state !== 'abandoned' && this.isLeased(),
      characters: () => unstored.record.body.length + (unstored.record.answer?.length ?? 0),
      begin: () => {
        unstored.state = 'inserting'
        return unstored.record
      },
    })
    void inserted.catch(() => 'abandoned' as const).then((result) => this.#settle(unstored, result))
    return unstored.result.promise
  }

  #settle(unstored: Unstored, result: StoreResult): void {
    const { state, record } = unstored
    if (state === 'abandoned') return
    if (state === 'running') this.#shares.ended(record.workspace)
    unstored.state = result
    if (result === 'stored') {
      this.#options.threadLog.touch(record)
      this.#options.traffic.accepted(record)
    }
    if (!this.#closed) this.#unstored.delete(record._id)
    unstored.result.resolve(result)
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #storeOld(): void {
    if (this.#unstored.size === 0) this.#stopTimer()
    const since = performance.now() - UNSTORED_MS
    for (const unstored of this.#unstored.values()) {
      if (unstored.arrivedAt > since) return
      void this.#store(unstored)
    }
  }
}

function releaseUnstored(unstored: Unstored, record: MessageRecord, indexes: readonly number[]): void {
  const { record: claimed } = unstored
  if (claimed.revision !== record.revision + 1) return
  const sends = claimed.sends.map((send, at) =>
    indexes.includes(at) && send.state === 'claimed' ? { ...send, state: 'pending' as const } : send,
  )
  unstored.record = { ...claimed, sends, revision: claimed.revision + 1 }
}
