import type { Log } from '@parley/shared/log'
import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import type { ConsumeMessage } from 'amqplib'
import { type MessageRecord, threadKey } from '../message/message-record.ts'
import type { Threads } from '../schedule/threads.ts'
import type { IntakeStore, StoreResult } from './intake-store.ts'
import { type DeliveryReading, readDelivery } from './read-delivery.ts'
import type { StoreDeliveries } from './store-deliveries.ts'
import type { WriteBehind } from './write-behind.ts'

const RETRY_MS = 500

/** A delivery, read, with its place among all of the partition. */
export interface Arrived {
  reading: DeliveryReading
  /** Whether it may have been delivered before. */
  redelivered: boolean
  /** The delivery of one that is not a message: a message is wholly in its reading. */
  delivery: ConsumeMessage | undefined
  order: number
  safe: PromiseWithResolvers<DeadLetter | undefined>
}

/** Takes what arrives at a partition, until it is safe in the store. */
export interface Intake {
  /**
   * Resolves when the delivery may be acked, with a dead letter when it can't be stored; rejects when it is left to
   * the next owner of the lease.
   */
  take(delivery: ConsumeMessage): Promise<DeadLetter | undefined>
  /** Rejects whatever is not given to the write-behind yet. */
  close(): void
}

interface IntakeOptions {
  partition: number
  /** Whether the lease is valid. */
  isLeased(): boolean
  /** What was published before that may be in the store already, wherever it was delivered before. */
  repeatsUntil: Date | undefined
  /** The order of the first delivery under this lease; each later one has the next. */
  firstSequenceNumber: number
  store: Pick<IntakeStore, 'known'>
  /** Stores what must not run before it is stored. Rejects when it could not: the same may be given again. */
  storeFirst: StoreDeliveries
  writeBehind: Pick<WriteBehind, 'resultOf' | 'begin' | 'store'>
  threads: Pick<Threads, 'add' | 'wake' | 'interrupt' | 'on'>
  log: Log
}

/**
 * Reads what arrives, in batches and in order, and divides it: a message whose id is new runs before it is stored
 * (see {@link WriteBehind}). It is safe at the broker until then, which delivers it again should this process die.
 * What may be in the store already is stored before it runs: what the broker delivers again, ids that the store
 * knows, and every other delivery of such an id in the batch.
 */
export function createIntake(options: IntakeOptions): Intake {
  return new PartitionIntake(options)
}

class PartitionIntake implements Intake {
  readonly #options: IntakeOptions
  #arrived: Arrived[] = []
  /** How many messages of a thread are being stored to be read back: what follows must stay behind them. */
  readonly #readBack = new Map<string, number>()
  #nextSequenceNumber: number
  #working = false
  #closed = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#nextSequenceNumber = options.firstSequenceNumber
    // Those behind it are stored now, and what is stored first is reported first.
    options.threads.on('waits', (record) => void options.writeBehind.store(record))
    options.threads.on('dropped', (records) => {
      for (const record of records) this.#storeAndReadBack(record)
    })
  }

  take(delivery: ConsumeMessage): Promise<DeadLetter | undefined> {
    const safe = Promise.withResolvers<DeadLetter | undefined>()
    const order = this.#nextSequenceNumber++
    const reading = readDelivery(delivery)
    const redelivered = delivery.fields.redelivered || this.#mayRepeat(delivery)
    const origin = reading.kind === 'message' ? undefined : delivery
    this.#arrived.push({ reading, redelivered, delivery: origin, order, safe })
    if (!this.#working) void this.#workAll()
    return safe.promise
  }

  close(): void {
    this.#closed = true
    for (const { safe } of this.#arrived.splice(0)) safe.reject(abandoned())
  }

  /** What a publisher says of the time counts to the second. */
  #mayRepeat({ properties: { timestamp } }: ConsumeMessage): boolean {
    const { repeatsUntil } = this.#options
    return repeatsUntil !== undefined && Number(timestamp) * 1_000 <= repeatsUntil.getTime()
  }

  async #workAll(): Promise<void> {
    this.#working = true
    while (this.#arrived.length > 0) await this.#retry(this.#arrived.splice(0))
    this.#working = false
  }

  /** Works a batch until it is done, or no longer ours to do. */
  async #retry(batch: Arrived[]): Promise<void> {
    for (;;) {
      try {
        return await this.#work(batch)
      } catch (error) {
        if (!this.#active()) {
          for (const { safe } of batch) safe.reject(abandoned())
          return
        }
        const { partition, log } = this.#options
        const reason = error instanceof Error ? error.message : 'unknown'
        log.warn({ partition, reason }, 'deliveries not stored yet: MongoDB is unavailable')
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  async #work(batch: Arrived[]): Promise<void> {
    const { storeFirst, threads } = this.#options
    const mayBeStored = await this.#idsThatMayBeStored(batch)
    if (!this.#active()) throw abandoned()
    const first: Arrived[] = []
    const fresh: ArrivedMessage[] = []
    for (const arrived of batch) {
      if (!isMessage(arrived)) first.push(arrived)
      else if (this.#joinsRunning(arrived)) continue
      else if (mayBeStored.has(arrived.reading.message._id)) first.push(arrived)
      else fresh.push(arrived)
    }
    if (first.length > 0) {
      const { stored, earlier } = await storeFirst(first)
      // First what is older: a thread that is not known here must not begin with what came after it.
      for (const record of earlier)
        if (record.takenOver === undefined) threads.wake(record)
        else threads.interrupt(record)
      for (const record of stored) this.#addToThread(record)
      for (const { reading, delivery, safe } of first)
        safe.resolve(
          reading.kind === 'rejected' && delivery ? { delivery, reason: reading.reason } : undefined,
        )
    }
    for (const arrived of fresh) this.#run(arrived)
  }

  /** A message that may be stored does not run unstored, for the store would take one for the other. */
  async #idsThatMayBeStored(batch: Arrived[]): Promise<Set<string>> {
    const { store, writeBehind } = this.#options
    const messages = batch.filter(isMessage)
    const ids = new Set<string>()
    // What runs unstored now may be stored, and so forgotten here, before the store has answered.
    for (const { redelivered, reading } of messages) {
      const { _id } = reading.message
      if (redelivered || writeBehind.resultOf(_id) !== undefined) ids.add(_id)
    }
    const others = messages.flatMap(({ reading: { message } }) => (ids.has(message._id) ? [] : message._id))
    const known = others.length === 0 ? undefined : await store.known(others)
    for (const id of others) if (known?.has(id)) ids.add(id)
    return ids
  }

  /** Whether another delivery of the same message runs unstored: then both are safe at once. */
  #joinsRunning({ reading, safe }: ArrivedMessage): boolean {
    const result = this.#options.writeBehind.resultOf(reading.message._id)
    if (result !== undefined) settleWith(result, safe)
    return result !== undefined
  }

  #run(arrived: ArrivedMessage): void {
    if (this.#joinsRunning(arrived)) return
    const { partition, writeBehind, threads } = this.#options
    const { reading, order, safe } = arrived
    const record: MessageRecord = { ...reading.message, partition, order }
    const result = writeBehind.begin(record)
    settleWith(result, safe)
    if (!this.#addToThread(record)) this.#storeAndReadBack(record)
    void result.then((stored) => {
      if (stored === 'known' && this.#active()) threads.wake(record)
    })
  }

  /** False when the thread is to read the message from the store, behind others. */
  #addToThread(record: MessageRecord): boolean {
    return !this.#readBack.has(threadKey(record)) && this.#options.threads.add(record)
  }

  /** Until it is stored, the messages that follow in its thread must not run: they take the same path. */
  #storeAndReadBack(record: MessageRecord): void {
    const stored = this.#options.writeBehind.store(record)
    if (stored === undefined) return
    const key = threadKey(record)
    this.#readBack.set(key, (this.#readBack.get(key) ?? 0) + 1)
    void stored.then(() => {
      const others = (this.#readBack.get(key) ?? 1) - 1
      if (others > 0) this.#readBack.set(key, others)
      else this.#readBack.delete(key)
      if (this.#active()) this.#options.threads.wake(record)
    })
  }

  #active(): boolean {
    return !this.#closed && this.#options.isLeased()
  }
}

function settleWith(result: Promise<StoreResult>, safe: Arrived['safe']): void {
  void result.then((result) => (result === 'abandoned' ? safe.reject(abandoned()) : safe.resolve(undefined)))
}

const abandoned = () => new Error('left to the next owner of the lease')

type ArrivedMessage = Arrived & { reading: { kind: 'message' } }

const isMessage = (arrived: Arrived): arrived is ArrivedMessage => arrived.reading.kind === 'message'
