import { pause } from '@parley/shared/every'
import type { EventCollections } from '../store/event-collections.ts'
import { type DeliverBatchOptions, deliverBatch, type Entered } from './deliver-batch.ts'
import { correctDues, firstDue, readDeliveries } from './read-deliveries.ts'
import { Receiver } from './receiver.ts'
import type { ShardWork } from './shards.ts'
import type { MarkSubscription, Subscription, Subscriptions } from './subscriptions.ts'

/** A subscription for which so many wait gets no more until some have left. */
const MAX_WAITING = 1_000_000
const COUNT_MS = 60_000
const LOOK_MS = 500
/** Without a subscription there is nothing to look for, and so many times as long until it is seen whether there is one. */
const IDLE_LOOKS = 4
/** The database is unavailable. */
const UNAVAILABLE_MS = 1_000
/** Milliseconds in which deliveries that are in flight when the shard closes may still be answered. */
const CLOSE_MS = 5_000

export interface DeliverOptions extends DeliverBatchOptions, MarkFullOptions {
  collections: Pick<EventCollections, 'deliveries' | 'subscribers'>
  subscriptions: Pick<Subscriptions, 'all'>
  /** How often it looks for what is new, in milliseconds. */
  lookMs?: number
}

/**
 * Delivers the events of one shard's subscriptions while its lease is valid, by round robin over the subscriptions: one
 * whose receiver is slow or dead has its own room, and delays no other.
 */
export function deliverShard(shard: number, isLeased: () => boolean, options: DeliverOptions): ShardWork {
  const worker = new ShardWorker(shard, isLeased, options)
  return { close: () => worker.close() }
}

class ShardWorker {
  readonly #shard: number
  readonly #isLeased: () => boolean
  readonly #options: DeliverOptions
  readonly #receivers = new Map<string, Receiver>()
  readonly #running = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #brokenOff = new AbortController()
  readonly #loop: Promise<void>
  #wake = new AbortController()
  #turn = 0

  constructor(shard: number, isLeased: () => boolean, options: DeliverOptions) {
    this.#shard = shard
    this.#isLeased = isLeased
    this.#options = options
    this.#loop = this.#run()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    this.#wake.abort()
    await this.#loop
    await Promise.race([Promise.all(this.#running), pause(CLOSE_MS, this.#brokenOff.signal)])
    this.#brokenOff.abort()
  }

  async #run(): Promise<void> {
    const { lookMs = LOOK_MS, log } = this.#options
    let lookedAt = Number.NEGATIVE_INFINITY
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController()
      const own = this.#ownSubscriptions()
      try {
        if (performance.now() - lookedAt >= lookMs) {
          lookedAt = performance.now()
          await this.#look(own)
        }
        if (await this.#deliverAll(own)) continue
      } catch (error) {
        log.warn({ shard: this.#shard, reason: (error as Error).message }, 'events not delivered for now')
        await pause(UNAVAILABLE_MS, this.#stopping.signal)
      }
      await pause(own.size === 0 ? IDLE_LOOKS * lookMs : lookMs, this.#wake.signal)
    }
  }

  #ownSubscriptions(): Map<string, Subscription> {
    const own = [...this.#options.subscriptions.all()].filter(({ shard }) => shard === this.#shard)
    return new Map(own.map((one) => [one.key, one]))
  }

  /** Finds out which subscriptions have something that was not tried yet. */
  async #look(own: Map<string, Subscription>): Promise<void> {
    if (own.size === 0) return this.#receivers.clear()
    const { deliveries, subscribers } = this.#options.collections
    for (const [key, { inFlight }] of this.#receivers)
      if (!own.has(key) && inFlight.size === 0) this.#receivers.delete(key)
    const fresh = { shard: this.#shard, fresh: true as const }
    const waiting = new Set<string>(await deliveries.distinct('subscription', fresh))
    for (const [key, subscription] of own) {
      const receiver = this.#receivers.get(key) ?? new Receiver(key, this.#options.now)
      this.#receivers.set(key, receiver)
      receiver.hasMore = waiting.has(key)
      if (receiver.hasMore || subscription.isFull || subscription.isMarkedFull)
        await markFull(this.#options, receiver, subscription)
      if (receiver.isRead) continue
      const known = await subscribers.findOne({ _id: key })
      receiver.failingSince = known?.failingSince?.getTime()
      await correctDues(this.#reading(), key)
      receiver.nextDue = await firstDue(this.#reading(), key)
      receiver.isRead = true
    }
  }

  /** One round over all subscriptions; whether something was started. */
  async #deliverAll(own: Map<string, Subscription>): Promise<boolean> {
    let started = false
    const rotated = [...own]
    rotated.push(...rotated.splice(0, this.#turn++ % Math.max(1, rotated.length)))
    for (const [key, subscription] of rotated) {
      const receiver = this.#receivers.get(key)
      if (this.#stopping.signal.aborted || !this.#isLeased()) return false
      if (receiver?.isRead && (await this.#deliverNext(receiver, subscription))) started = true
    }
    return started
  }

  /** Starts deliveries to one receiver, at most as many as there is room for here. */
  async #deliverNext(receiver: Receiver, subscription: Subscription): Promise<boolean> {
    if (!receiver.hasRoom || receiver.pausedUntil > this.#options.now()) return false
    await readDeliveries(this.#reading(), receiver)
    const entered = this.#enter(receiver, subscription)
    if (entered.length === 0) return false
    const { signal } = this.#brokenOff
    const batch = { receiver, subscription, entered, signal, isLeased: this.#isLeased }
    this.#track(deliverBatch(this.#options, { ...batch, settled: () => this.#wake.abort() }))
    return true
  }

  /** Returns deliveries that may leave: there is a slot, the circuit breaker admits them, and none before is in flight. */
  #enter(receiver: Receiver, { workspace }: Subscription): Entered[] {
    const all: Entered[] = []
    while (receiver.buffer.length > 0 && receiver.hasRoom) {
      const release = this.#options.slots.take([workspace])
      if (release === undefined) break
      const entered = this.#enterOne(receiver)
      if (entered === undefined) {
        release()
        break
      }
      all.push({ ...entered, release })
    }
    return all
  }

  #enterOne(receiver: Receiver): Omit<Entered, 'release'> | undefined {
    const entry = receiver.breaker.enter()
    if (entry.kind === 'refused') {
      // A probe mostly ends long before the time that it may take, and then the breaker is closed.
      const lookAgain = Math.min(entry.until, this.#options.now() + LOOK_MS)
      receiver.pausedUntil = Math.max(receiver.pausedUntil, lookAgain)
      return undefined
    }
    const delivery = receiver.take()
    if (delivery !== undefined) return { delivery, end: entry.end }
    entry.end('unknown')
    return undefined
  }

  #reading() {
    const { collections, now } = this.#options
    return { deliveries: collections.deliveries, shard: this.#shard, now }
  }

  #track(work: Promise<void>): void {
    const ended = work.finally(() => {
      this.#running.delete(ended)
      this.#wake.abort()
    })
    this.#running.add(ended)
  }
}

interface MarkFullOptions {
  collections: Pick<EventCollections, 'deliveries' | 'subscribers'>
  markSubscription: MarkSubscription
  /** Milliseconds since the epoch. */
  now: () => number
  /** How many events wait for a subscription at most. */
  maxWaiting?: number
  /** How often they are counted, in milliseconds. */
  countMs?: number
}

/**
 * Notes that too many events wait for a subscription, so that no more are made, or that there is room again, and marks it
 * in configuration; at most once a minute. While configuration is unavailable, the next count does it.
 */
async function markFull(
  options: MarkFullOptions,
  receiver: Receiver,
  subscription: Subscription,
): Promise<void> {
  const { collections, markSubscription, now, maxWaiting = MAX_WAITING, countMs = COUNT_MS } = options
  if (performance.now() - receiver.countedAt < countMs) return
  receiver.countedAt = performance.now()
  const { key, shard } = subscription
  const waiting = { shard, subscription: key, fresh: true as const }
  const isFull = (await collections.deliveries.countDocuments(waiting, { limit: maxWaiting })) === maxWaiting
  const change = isFull ? { $set: { full: true as const } } : { $unset: { full: '' as const } }
  await collections.subscribers.updateOne({ _id: key }, change, { upsert: isFull })
  if (isFull === subscription.isMarkedFull) return
  const since = new Date(now()).toISOString()
  const reason = `${maxWaiting.toLocaleString('en')} events wait for it: it gets no more until some have left.`
  await markSubscription(subscription, isFull ? { state: 'full', since, reason } : { state: 'not_full' })
}
