import { defined } from '@parley/shared/defined'
import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'
import type { MessageRecord } from '../message/message-record.ts'
import { ranAgainAt } from '../message/progress.ts'
import { isSilent } from '../message/received-content.ts'
import { type ThreadCampaign, type ThreadName, threadId } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import type { Lease } from '../store/lease-store.ts'
import { activityOf, campaignOf, type Excerpt, excerptOf, isShown, isUnread } from './activity.ts'
import { joinThreads } from './joined-threads.ts'
import { latestOf, unwrittenThreads } from './recover-written.ts'
import type { ReportPeople } from './report-people.ts'
import { countUnread, type ThreadWrite, writeThread, writeThreads } from './write-threads.ts'

/** A thread is written at most this often; less often under load, so that it takes a twentieth of the time as a rule. */
const WRITE_EVERY_MS = 1_000
const PAUSE_SHARE = 19
const MAX_PAUSE_MS = 5_000
const BATCH = 100
const RECOUNTED_AT_ONCE = 8
const MAX_JOINED = 10_000
/** MongoDB's code of a query that takes longer than it may. */
const TIME_LIMIT_EXCEEDED = 50
/** Of bodies; of threads beyond it only the names are in memory, and the rest is read again. */
const MAX_CHARACTERS = 8 * 1024 * 1024

interface Touched extends ThreadName {
  /** Of the message that something last happened in; undefined where it is to be read from the store. */
  latest: Excerpt | undefined
  /** Of the last message that names the person, where that is another one. */
  named: Excerpt | undefined
  at: Date
  lastInboundAt: Date | undefined
  /** True if its unread messages are to be counted. */
  isCounted: boolean
  /** The campaign that it was last written to by. */
  campaign: ThreadCampaign | undefined
  /** Those that go on in it, where a message says that there are some. */
  joined: string[] | undefined
}

/** Writes the documents of threads behind their messages. */
export interface ThreadLog {
  /** The message is in the store as it is here. Costs no more than an entry in a map. */
  touch(record: MessageRecord): void
  /** The partition is this instance's: what its last owner did not write any more is written from the messages. */
  open(lease: Lease): void
  /** True if all is written that earlier owners of the partition did not write. */
  isWhole(lease: Pick<Lease, 'partition' | 'term'>): boolean
  /** Everything of the partition has ended: writes what is left. Never rejects. */
  release(lease: Pick<Lease, 'partition' | 'term'>): Promise<void>
  abandon(lease: Pick<Lease, 'partition' | 'term'>): void
  close(): Promise<void>
}

interface ThreadLogOptions {
  collections: Pick<Collections, 'threads' | 'messages' | 'partitions'>
  instance: string
  /** The retention of an ended message, in milliseconds. */
  retentionMs: number
  /** Before a partition says until when its threads are written, so that a crash repeats it. */
  reportPeople: ReportPeople
  log: Log
}

/**
 * Once a second, and under load every five, all threads are written in which something happened, in batches; then each partition says until when
 * that was, so that whoever takes it over after a crash looks at the few messages beyond.
 */
export function createThreadLog(options: ThreadLogOptions): ThreadLog {
  return new WrittenBehind(options)
}

class WrittenBehind implements ThreadLog {
  readonly #options: ThreadLogOptions
  #touched = new Map<string, Touched>()
  #characters = 0
  /** Partitions whose last owner's threads are written. */
  readonly #open = new Map<number, Pick<Lease, 'partition' | 'term'>>()
  readonly #recovering = new Map<number, Lease>()
  readonly #loop: { stop(): Promise<void> }
  /** The threads that have joined others, as far as this instance has handled them. */
  readonly #joined = new LRUCache<string, string>({ max: MAX_JOINED })
  #writing: Promise<void> = Promise.resolve()
  /** How long the last write took. */
  #writeMs = 0

  constructor(options: ThreadLogOptions) {
    this.#options = options
    const { log } = options
    const failed = ({ message }: Error) => log.warn({ reason: message }, 'threads not written yet')
    const pauseMs = () => Math.min(MAX_PAUSE_MS, Math.max(WRITE_EVERY_MS, this.#writeMs * PAUSE_SHARE))
    this.#loop = every({ pauseMs, run: () => this.#writeAll(), failed })
  }

  touch(record: MessageRecord): void {
    if (!isShown(record) || isSilent(record)) return
    const { workspace, channel, thread: extId } = record
    const key = threadId({ workspace, channel, extId })
    const known = this.#touched.get(key)
    const excerpt = excerptOf(record)
    const isLatest = known?.latest === undefined || excerpt.at >= known.at
    const inboundAt = record.inbound === true ? record.receivedAt : undefined
    const fits = this.#characters < MAX_CHARACTERS
    const touched: Touched = {
      workspace,
      channel,
      extId,
      latest: isLatest ? (fits ? excerpt : undefined) : known.latest,
      named: record.names !== undefined && fits ? excerpt : known?.named,
      at: isLatest ? excerpt.at : known.at,
      lastInboundAt: later(known?.lastInboundAt, inboundAt),
      isCounted: known?.isCounted === true || isUnread(record) || ranAgainAt(record) > 0,
      campaign: campaignOf(record) ?? known?.campaign,
      joined: record.joined ?? known?.joined,
    }
    this.#characters += charactersOf(touched) - charactersOf(known)
    this.#touched.set(key, touched)
  }

  open(lease: Lease): void {
    this.#recovering.set(lease.partition, lease)
  }

  isWhole({ partition, term }: Pick<Lease, 'partition' | 'term'>): boolean {
    return this.#open.get(partition)?.term === term
  }

  async release({ partition, term }: Pick<Lease, 'partition' | 'term'>): Promise<void> {
    const { instance, collections, log } = this.#options
    try {
      await this.#writeAll()
      const isWhole = this.#open.get(partition)?.term === term
      this.abandon({ partition, term })
      const ours = { _id: partition, owner: instance, term }
      if (isWhole) await collections.partitions.updateOne(ours, { $unset: { threads: '' } })
    } catch (error) {
      this.abandon({ partition, term })
      const reason = error instanceof Error ? error.message : 'unknown'
      log.warn({ partition, reason }, 'threads not written: the next owner of the partition does that')
    }
  }

  abandon({ partition, term }: Pick<Lease, 'partition' | 'term'>): void {
    if (this.#open.get(partition)?.term === term) this.#open.delete(partition)
    if (this.#recovering.get(partition)?.term === term) this.#recovering.delete(partition)
  }

  async close(): Promise<void> {
    await this.#loop.stop()
    await this.#writeAll().catch(() => {})
  }

  /** One after the other. */
  #writeAll(): Promise<void> {
    const written = this.#writing.catch(() => {}).then(() => this.#write())
    this.#writing = written
    return written
  }

  async #write(): Promise<void> {
    const until = new Date()
    const startedAt = performance.now()
    const recovered = await this.#recover()
    const touched = this.#touched
    this.#touched = new Map()
    this.#characters = 0
    try {
      await this.#writeTouched([...touched.values()])
    } catch (error) {
      this.#takeBack(touched)
      throw error
    }
    for (const lease of recovered)
      if (this.#recovering.get(lease.partition) === lease) {
        this.#recovering.delete(lease.partition)
        this.#open.set(lease.partition, lease)
      }
    // Where nothing happened, there is nothing to look at beyond the last one either.
    if (touched.size > 0 || recovered.length > 0) await this.#checkpoint(until)
    this.#writeMs = performance.now() - startedAt
  }

  /** Notes the threads that earlier owners of partitions may not have written. */
  async #recover(): Promise<Lease[]> {
    const leases = [...this.#recovering.values()]
    for (const lease of leases) {
      const { collections } = this.#options
      for (const name of await unwrittenThreads(collections, lease)) {
        const key = threadId(name)
        const unknown = {
          ...name,
          latest: undefined,
          named: undefined,
          at: new Date(0),
          lastInboundAt: undefined,
          campaign: undefined,
          joined: undefined,
        }
        this.#touched.set(key, { ...(this.#touched.get(key) ?? unknown), isCounted: true })
      }
    }
    return leases
  }

  async #writeTouched(touched: Touched[]): Promise<void> {
    const { collections, retentionMs, reportPeople } = this.#options
    const written: ThreadWrite[] = []
    for (let at = 0; at < touched.length; at += BATCH) {
      const batch = await Promise.all(touched.slice(at, at + BATCH).map((one) => this.#writeOf(one)))
      const writes = batch.filter((write) => write !== undefined)
      const goingOn = await writeThreads(collections.threads, writes)
      for (const name of goingOn) await writeThread(collections, name, retentionMs)
      written.push(...writes)
    }
    for (const one of touched) await this.#join(one)
    const counted = touched.filter((one) => one.isCounted)
    for (let at = 0; at < counted.length; at += RECOUNTED_AT_ONCE)
      await Promise.all(counted.slice(at, at + RECOUNTED_AT_ONCE).map((one) => this.#countUnread(one)))
    // Last, as it needs the broker, too.
    for (let at = 0; at < written.length; at += BATCH) await reportPeople(written.slice(at, at + BATCH))
  }

  async #join({ workspace, channel, extId, joined }: Touched): Promise<void> {
    if (joined === undefined) return
    const key = threadId({ workspace, channel, extId })
    if (this.#joined.get(key) === String(joined)) return
    const { collections, retentionMs } = this.#options
    await joinThreads(collections, { workspace, channel, extId, joined }, retentionMs)
    this.#joined.set(key, String(joined))
  }

  /** One thread with a great many messages must not hold up the others: it is counted again with its next one. */
  async #countUnread({ workspace, channel, extId }: ThreadName): Promise<void> {
    try {
      await countUnread(this.#options.collections, { workspace, channel, extId })
    } catch (error) {
      if ((error as { code?: unknown }).code !== TIME_LIMIT_EXCEEDED) throw error
      this.#options.log.warn(
        { workspace, channel },
        'unread messages of a thread not counted: it takes too long',
      )
    }
  }

  async #writeOf(touched: Touched): Promise<ThreadWrite | undefined> {
    const { collections, retentionMs } = this.#options
    const { workspace, channel, extId, latest, named, lastInboundAt, campaign } = touched
    const expiresAt = new Date(Date.now() + retentionMs)
    if (latest !== undefined) {
      const activity = { ...activityOf(latest, named), ...defined({ campaign }) }
      return { workspace, channel, extId, activity, lastInboundAt, expiresAt }
    }
    const stored = await latestOf(collections.messages, touched)
    if (stored === undefined) return undefined
    touched.joined ??= stored.joined
    const inboundAt = later(lastInboundAt, stored.lastInboundAt)
    return { workspace, channel, extId, activity: stored.activity, lastInboundAt: inboundAt, expiresAt }
  }

  /** They are written with the next ones, which may be later. */
  #takeBack(touched: Map<string, Touched>): void {
    for (const [key, { latest, named, ...one }] of touched) {
      const newer = this.#touched.get(key)
      const isCounted = one.isCounted || newer?.isCounted === true
      const lastInboundAt = later(newer?.lastInboundAt, one.lastInboundAt)
      const joined = newer?.joined ?? one.joined
      const campaign = newer?.campaign ?? one.campaign
      // Without a person's name of its own it is read from the store, as the older one is.
      const waiting =
        newer?.named === undefined ? { ...(newer ?? one), latest: undefined, named: undefined } : newer
      this.#touched.set(key, { ...waiting, isCounted, lastInboundAt, campaign, joined })
    }
  }

  async #checkpoint(until: Date): Promise<void> {
    const { collections, instance, retentionMs } = this.#options
    const leases = [...this.#open.values()].map(({ partition, term }) => ({ _id: partition, term }))
    if (leases.length === 0) return
    const threads = { until, retentionMs }
    await collections.partitions.updateMany({ owner: instance, $or: leases }, { $set: { threads } })
  }
}

function later(left: Date | undefined, right: Date | undefined): Date | undefined {
  if (left === undefined || right === undefined) return left ?? right
  return left > right ? left : right
}

function charactersOf(touched: Touched | undefined): number {
  if (touched === undefined) return 0
  const { latest, named } = touched
  return (latest?.body.length ?? 0) + (named === latest ? 0 : (named?.body.length ?? 0))
}
