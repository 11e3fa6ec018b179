import type { Log } from '@parley/shared/log'
import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import type { ConsumeMessage } from 'amqplib'
import type { HeedMessages, SaidMessage } from '../consent/heed-messages.ts'
import { type MessageRecord, threadKey } from '../message/message-record.ts'
import type { Threads } from '../schedule/threads.ts'
import type { IntakeStore, StoreResult } from './intake-store.ts'
import type { NonSpeech, Unspoken } from './non-speech.ts'
import { readDelivery } from './read-delivery.ts'
import type { Arrived, StoreDeliveries } from './store-deliveries.ts'
import type { WriteBehind } from './write-behind.ts'

const RETRY_MS = 500
const NONE = Promise.resolve()

interface Undivided extends Arrived {
  /** Undefined until it is looked up. */
  mayBeStored: boolean | undefined
  /** Another delivery of the message came before it, and was not divided when it came. */
  isRepeat: boolean
  /** Rejects while the database is unavailable. */
  lookup: Promise<void>
  isLookupFailed: boolean
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
  /** True while the lease is valid. */
  isLeased(): boolean
  /** Messages published before this time may be in the store already, whichever instance got them before. */
  repeatsUntil: Date | undefined
  /** The order of the first delivery under this lease; each later one has the next. */
  firstSequenceNumber: number
  store: Pick<IntakeStore, 'known'>
  /** Stores what must not run before it is stored. Rejects when it could not: the same may be given again. */
  storeFirst: StoreDeliveries
  nonSpeech: NonSpeech
  /** Sees what may say something of consent before any of it is worked. */
  heed: HeedMessages
  writeBehind: Pick<WriteBehind, 'resultOf' | 'begin' | 'store' | 'storeThread'>
  threads: Pick<Threads, 'add' | 'wake' | 'interrupt' | 'on'>
  log: Log
}

/**
 * Reads what arrives, in batches and in order, and divides it: a message whose id is new runs before it is stored
 * (see {@link WriteBehind}). It is safe at the broker until then, which delivers it again should this process die.
 * Each id is looked up from its arrival on, so that a message does not wait for the lookups of those before it and then
 * for its own. What may be in the store already is stored before it runs: what the broker delivers again, ids that the store
 * knows, and every other delivery of such an id in the batch. What is no speech does not run (see {@link NonSpeech}).
 */
export function createIntake(options: IntakeOptions): Intake {
  return new PartitionIntake(options)
}

class PartitionIntake implements Intake {
  readonly #options: IntakeOptions
  #arrived: Undivided[] = []
  /** The ids of messages that arrived and are not divided yet, with how many of each. */
  readonly #undivided = new Map<string, number>()
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
    this.#arrived.push(this.#lookedUp({ reading, redelivered, delivery: origin, order, safe }))
    if (!this.#working) void this.#workAll()
    return safe.promise
  }

  close(): void {
    this.#closed = true
    for (const { safe } of this.#arrived.splice(0)) safe.reject(abandoned())
  }

  /** True if a message may repeat an earlier one: a publisher's timestamp counts to the second. */
  #mayRepeat({ properties: { timestamp } }: ConsumeMessage): boolean {
    const { repeatsUntil } = this.#options
    return repeatsUntil !== undefined && Number(timestamp) * 1_000 <= repeatsUntil.getTime()
  }

  /** A batch is what is looked up by the time that its first one is. */
  async #workAll(): Promise<void> {
    this.#working = true
    for (let first = this.#arrived[0]; first !== undefined; first = this.#arrived[0]) {
      await first.lookup.catch(() => undefined)
      const end = this.#arrived.findIndex((one) => one !== first && one.mayBeStored === undefined)
      await this.#retry(this.#arrived.splice(0, end < 0 ? this.#arrived.length : end))
    }
    this.#working = false
  }

  /** Works a batch until it is done, or no longer ours to do. */
  async #retry(batch: Undivided[]): Promise<void> {
    for (;;) {
      try {
        return await this.#work(batch)
      } catch (error) {
        if (!this.#active()) {
          for (const { safe } of batch) safe.reject(abandoned())
          return
        }
        await this.#failed(error)
        // Those behind it too: each by itself would wait again for a failure of long ago.
        for (const one of [...batch, ...this.#arrived]) if (one.isLookupFailed) this.#lookUp(one)
      }
    }
  }

  async #failed(error: unknown): Promise<void> {
    const { partition, log } = this.#options
    const reason = error instanceof Error ? error.message : 'unknown'
    log.warn({ partition, reason }, 'deliveries not stored yet: MongoDB is unavailable')
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }

  async #work(batch: Undivided[]): Promise<void> {
    const { storeFirst, threads, writeBehind } = this.#options
    await Promise.all(batch.map(({ lookup }) => lookup))
    if (!this.#active()) throw abandoned()
    await this.#heed(batch)
    const unspoken = await this.#beginUnspoken(batch)
    // A message that may be stored does not run unstored, for the store would take one for the other.
    const mayBeStored = idsThatMayBeStored(batch)
    const first: Arrived[] = []
    const fresh: ArrivedMessage[] = []
    for (const arrived of batch) {
      if (!isMessage(arrived)) first.push(arrived)
      else if (unspoken.has(arrived)) continue
      else if (this.#joinsRunning(arrived)) continue
      else if (mayBeStored.has(idOf(arrived))) first.push(arrived)
      else fresh.push(arrived)
    }
    if (first.length > 0) {
      // The next owner of the lease would run what is stored before what comes again.
      await Promise.all(
        first.filter(isMessage).map(({ reading }) => writeBehind.storeThread(reading.message)),
      )
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
    for (const [arrived, one] of unspoken) void this.#settleUnspoken(arrived, one)
    this.#forget(batch)
  }

  /** Most batches say nothing of consent, and wait for nothing. */
  async #heed(batch: Undivided[]): Promise<void> {
    const said: SaidMessage[] = []
    for (const { reading } of batch)
      if (reading.kind === 'message' && reading.said !== undefined)
        said.push({ message: reading.message, ...reading.said })
    if (said.length > 0) await this.#options.heed(said)
  }

  /** Begins the messages of a batch that are no speech, and returns them. */
  async #beginUnspoken(batch: Undivided[]): Promise<Map<Arrived, Unspoken>> {
    const { partition, nonSpeech } = this.#options
    const unspoken = new Map<Arrived, Unspoken>()
    const begin = async (arrived: ArrivedMessage, content: ReceivedContent) => {
      const { message } = arrived.reading
      const one = { record: { ...message, partition }, content }
      if (await nonSpeech.begin(one, this.#partitionThreads)) unspoken.set(arrived, one)
      else message.inbound = true
    }
    const begun: Promise<void>[] = []
    for (const arrived of batch) {
      const content = isMessage(arrived) ? arrived.reading.unspoken : undefined
      if (content !== undefined) begun.push(begin(arrived as ArrivedMessage, content))
    }
    await Promise.all(begun)
    return unspoken
  }

  /** It is safe once it has taken effect and is stored, which nothing else waits for. */
  async #settleUnspoken(arrived: Arrived, unspoken: Unspoken): Promise<void> {
    const { nonSpeech, storeFirst } = this.#options
    const { safe } = arrived
    for (;;) {
      try {
        const message = await nonSpeech.settle(unspoken, this.#partitionThreads)
        if (!this.#active()) throw abandoned()
        await storeFirst([{ ...arrived, reading: { kind: 'message', message } }])
        return safe.resolve(undefined)
      } catch (error) {
        if (!this.#active()) return safe.reject(abandoned())
        await this.#failed(error)
      }
    }
  }

  get #partitionThreads() {
    const { writeBehind, threads } = this.#options
    return {
      isActive: () => this.#active(),
      storeThread: writeBehind.storeThread.bind(writeBehind),
      interrupt: threads.interrupt.bind(threads),
    }
  }

  /**
   * Begins to look up whether the store may have it. What runs unstored now may be stored, and so forgotten here,
   * before the store has answered.
   */
  #lookedUp(arrived: Arrived): Undivided {
    const undivided: Undivided = {
      ...arrived,
      mayBeStored: false,
      isRepeat: false,
      lookup: NONE,
      isLookupFailed: false,
    }
    if (!isMessage(arrived)) return undivided
    const { _id } = arrived.reading.message
    const before = this.#undivided.get(_id) ?? 0
    this.#undivided.set(_id, before + 1)
    undivided.isRepeat = before > 0
    undivided.mayBeStored = arrived.redelivered || this.#options.writeBehind.resultOf(_id) !== undefined
    if (!undivided.mayBeStored && !undivided.isRepeat) this.#lookUp(undivided)
    return undivided
  }

  #lookUp(undivided: Undivided): void {
    if (!isMessage(undivided)) return
    const { _id } = undivided.reading.message
    undivided.mayBeStored = undefined
    undivided.isLookupFailed = false
    undivided.lookup = this.#options.store.known([_id]).then((known) => {
      undivided.mayBeStored = known.has(_id)
    })
    // Whoever works the batch hears of it.
    undivided.lookup.catch(() => {
      undivided.isLookupFailed = true
    })
  }

  #forget(divided: Undivided[]): void {
    for (const { reading } of divided.filter(isMessage)) {
      const others = (this.#undivided.get(reading.message._id) ?? 1) - 1
      if (others > 0) this.#undivided.set(reading.message._id, others)
      else this.#undivided.delete(reading.message._id)
    }
  }

  /** True if another delivery of the same message runs unstored: then both are safe at once. */
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
    if (!this.#addToThread(record)) {
      // Not without those before it: the next owner of the lease would run it before what comes again.
      void writeBehind.storeThread(record)
      this.#storeAndReadBack(record)
    }
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

const isMessage = <T extends Arrived>(arrived: T): arrived is T & ArrivedMessage =>
  arrived.reading.kind === 'message'

/** Returns the ids to store before their messages run, which covers every other delivery of the same message. */
function idsThatMayBeStored(batch: Undivided[]): Set<string | undefined> {
  const ids = new Set<string | undefined>()
  const met = new Set<string | undefined>()
  for (const one of batch) {
    const id = idOf(one)
    // The one that it repeats was divided before: it may have been stored since.
    if (one.mayBeStored || (one.isRepeat && !met.has(id))) ids.add(id)
    met.add(id)
  }
  return ids
}

const idOf = ({ reading }: Arrived): string | undefined =>
  reading.kind === 'message' ? reading.message._id : undefined
