import type { Log } from '@parley/shared/log'
import type { ConfirmChannel, ConsumeMessage } from 'amqplib'
import { ChurnMap } from '../churn-map.ts'
import type { Committer } from '../commit.ts'
import { advanced, type MessageRecord, type Progress, threadKey } from '../message-record.ts'
import type { Threads } from '../threads/threads.ts'
import type { Hold } from '../written-message.ts'
import type { ArrivalStore, StoreResult } from './arrival-store.ts'
import { PrefetchShares } from './prefetch-shares.ts'
import { type Reading, readDelivery } from './read-delivery.ts'

/** How long a message may be under way without being stored, in milliseconds. */
const UNSTORED_MS = 500
const LOOK_EVERY_MS = 100
const AGAIN_MS = 500

/** A delivery, read, with its place among all of the partition. */
export interface Arrived {
  reading: Reading
  redelivered: boolean
  /** Where it came from, of one that is not a message: a message is wholly in its reading. */
  origin: { delivery: ConsumeMessage; channel: ConfirmChannel } | undefined
  order: number
  safe: PromiseWithResolvers<void>
}

/** A message that runs before it is stored. */
interface Unstored {
  record: MessageRecord
  arrivedAt: number
  safe: PromiseWithResolvers<void>
  /** Set once it is to be stored. */
  storing?: Promise<StoreResult>
  /** The statement is under way: progress has to wait for it. */
  begun: boolean
}

/** What arrives at a partition, until it is in the store. */
export interface Arrivals extends Pick<Hold, 'commit'> {
  /** Resolves when the delivery may be acked; rejects when it is left to the next holder of the lease. */
  take(delivery: ConsumeMessage, channel: ConfirmChannel): Promise<void>
  /** The threads hold these in memory no more. */
  dropped(records: MessageRecord[]): void
  /** Stores what has begun and leaves the rest; the threads have stopped. */
  close(): Promise<void>
  /** Leaves everything. */
  abandon(): void
}

/**
 * Runs what arrives before it is stored, so that a message that ends at once is written once: whole. It is stored
 * when it ends, when something must not happen before it is (see {@link Hold}), when its thread is not held in
 * memory, and after half a second. Until then it is safe at the broker, which delivers it again should this process
 * die. What the broker delivers again, and ids that are in the store, are stored before anything runs.
 */
export function createArrivals(options: {
  partition: number
  writer: string
  held(): boolean
  nextOrder(): number
  threads: Pick<Threads, 'add' | 'wake'>
  store: ArrivalStore
  /** Stores what does not run first. Rejects when it could not: the same may be given again. */
  storeFirst(arrived: Arrived[], stored: (record: MessageRecord) => void): Promise<void>
  committer: Committer
  log: Log
}): Arrivals {
  return new PartitionArrivals(options)
}

class PartitionArrivals implements Arrivals {
  readonly #options: Parameters<typeof createArrivals>[0]
  readonly #unstored = new ChurnMap<string, Unstored>()
  readonly #shares = new PrefetchShares()
  /** Threads with messages that are being stored and are not in memory: whatever follows has to stay behind them. */
  readonly #behind = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #arrived: Arrived[] = []
  #admitting = false
  #stopped = false

  constructor(options: Parameters<typeof createArrivals>[0]) {
    this.#options = options
    this.#timer = setInterval(() => this.#storeOld(), LOOK_EVERY_MS)
  }

  take(delivery: ConsumeMessage, channel: ConfirmChannel): Promise<void> {
    const safe = Promise.withResolvers<void>()
    const order = this.#options.nextOrder()
    const reading = readDelivery(delivery)
    const { redelivered } = delivery.fields
    const origin = reading.kind === 'message' ? undefined : { delivery, channel }
    this.#arrived.push({ reading, redelivered, origin, order, safe })
    if (!this.#admitting) void this.#admitAll()
    return safe.promise
  }

  async commit(
    record: MessageRecord,
    progress: Progress,
    { lazily = false } = {},
  ): Promise<MessageRecord | undefined> {
    const { committer, writer } = this.#options
    const one = this.#unstored.get(record._id)
    // It is left: whoever has the lease now brings it in.
    if (one !== undefined && this.#stopped) return undefined
    if (one?.begun === true && (await one.storing) !== 'stored') return undefined
    const next = advanced(record, progress)
    if (one === undefined || one.begun) return (await committer.commit(record, progress)) ? next : undefined
    if (one.record.revision !== record.revision) return undefined
    next.writer = writer
    next.updatedAt = new Date()
    one.record = next
    if (lazily && progress.open === true) return next
    const storing = this.#store(one)
    return lazily || (await storing) === 'stored' ? next : undefined
  }

  dropped(records: MessageRecord[]): void {
    for (const { _id } of records) {
      const one = this.#unstored.get(_id)
      if (one !== undefined) this.#storeBehind(one)
    }
  }

  async close(): Promise<void> {
    const begun = [...this.#unstored.values()].filter(
      ({ record, storing }) => record.revision > 0 || storing !== undefined,
    )
    await Promise.all(begun.map((one) => this.#store(one)))
    this.abandon()
  }

  abandon(): void {
    this.#stopped = true
    clearInterval(this.#timer)
    for (const { safe } of [...this.#arrived, ...this.#unstored.values()]) safe.reject(left())
    this.#arrived = []
  }

  async #admitAll(): Promise<void> {
    this.#admitting = true
    while (this.#arrived.length > 0) {
      const batch = this.#arrived
      this.#arrived = []
      await this.#admit(batch)
    }
    this.#admitting = false
  }

  /** Tries until it is done, or no longer ours to do. */
  async #admit(batch: Arrived[]): Promise<void> {
    for (;;) {
      try {
        return await this.#admitOnce(batch)
      } catch (error) {
        if (!this.#active()) {
          for (const { safe } of batch) safe.reject(left())
          return
        }
        const { partition, log } = this.#options
        log.warn({ partition, reason: error instanceof Error ? error.message : 'unknown' }, 'arrivals wait')
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
      }
    }
  }

  async #admitOnce(batch: Arrived[]): Promise<void> {
    const running = new Set(batch.filter((one) => this.#unstored.get(idOf(one) ?? '') !== undefined))
    const ids = batch.flatMap((one) => (one.redelivered || running.has(one) ? [] : (idOf(one) ?? [])))
    const known = ids.length === 0 ? new Set() : await this.#options.store.known(ids)
    if (!this.#active()) throw left()
    const first: Arrived[] = []
    const fresh: Message[] = []
    for (const arrived of batch) {
      const id = idOf(arrived)
      const wasThere = arrived.redelivered || running.has(arrived) || known.has(id)
      if (!isMessage(arrived) || (wasThere && this.#unstored.get(arrived.reading.message._id) === undefined))
        first.push(arrived)
      else fresh.push(arrived)
    }
    if (first.length > 0) {
      await this.#options.storeFirst(first, (record) => this.#enter(record))
      for (const { safe } of first) safe.resolve()
    }
    for (const arrived of fresh) this.#run(arrived)
  }

  #run({ reading, order, safe }: Message): void {
    const { _id } = reading.message
    const same = this.#unstored.get(_id)
    if (same !== undefined) return void same.safe.promise.then(safe.resolve, safe.reject)
    const { partition } = this.#options
    const record = { ...reading.message, partition, order }
    const one = { record, arrivedAt: performance.now(), safe, begun: false }
    this.#unstored.set(_id, one)
    const isBeyondShare = this.#shares.arrived(record.workspace)
    if (!this.#enter(record)) this.#storeBehind(one)
    else if (isBeyondShare) void this.#store(one)
  }

  /** False when the message is to be read from the store, behind others of its thread. */
  #enter(record: MessageRecord): boolean {
    return !this.#behind.has(threadKey(record)) && this.#options.threads.add(record)
  }

  #storeBehind(one: Unstored): void {
    const key = threadKey(one.record)
    this.#behind.set(key, (this.#behind.get(key) ?? 0) + 1)
    void this.#store(one).then(() => {
      const others = (this.#behind.get(key) ?? 1) - 1
      if (others > 0) this.#behind.set(key, others)
      else this.#behind.delete(key)
      if (this.#active()) this.#options.threads.wake(one.record)
    })
  }

  #store(one: Unstored): Promise<StoreResult> {
    one.storing ??= this.#options.store
      .insert({
        held: () => this.#options.held(),
        characters: () => one.record.body.length + (one.record.answer?.length ?? 0),
        begin: () => {
          one.begun = true
          return one.record
        },
      })
      .then((result) => this.#settled(one, result))
    return one.storing
  }

  #settled(one: Unstored, result: StoreResult): StoreResult {
    const { record, safe } = one
    this.#unstored.delete(record._id)
    this.#shares.stored(record.workspace)
    if (result === 'left') safe.reject(left())
    else safe.resolve()
    if (result === 'known' && this.#active()) this.#options.threads.wake(record)
    return result
  }

  #storeOld(): void {
    const since = performance.now() - UNSTORED_MS
    for (const one of this.#unstored.values()) {
      if (one.arrivedAt > since) return
      void this.#store(one)
    }
  }

  #active(): boolean {
    return !this.#stopped && this.#options.held()
  }
}

const left = () => new Error('left to the next holder')

type Message = Arrived & { reading: { kind: 'message' } }

const isMessage = (arrived: Arrived): arrived is Message => arrived.reading.kind === 'message'
const idOf = (arrived: Arrived) => (isMessage(arrived) ? arrived.reading.message._id : undefined)
