import { every, pause } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import type { Change } from './change.ts'
import { type Changes, isLost, openChanges, type ThreadView } from './open-changes.ts'
import { keyAfter, type Position, seenOf, timeOf } from './position.ts'
import { createRecentChanges, type RecentChanges } from './recent-changes.ts'

/** Whom the feed gives changes to. */
export interface FeedReader {
  readonly workspace: number
  /** Up to where it was given changes. */
  position: Position
  /** The events of a change from the one at `from` on. */
  offer(change: Change, from: number): void
  /** Reports that changes before this place can't be read any more. */
  gap(key: string): void
  /** There is nothing for it up to this place. */
  moveOn(key: string): void
  /** Takes no more at the moment. */
  isFull(): boolean
  /** Resolves when it takes more, or is closed; it is closed when that takes too long. */
  drained(): Promise<void>
  isClosed(): boolean
  close(): void
}

export interface ChangeFeed {
  /**
   * Where a reader begins who comes now: after `from`, or after what has happened until now. Rejects while the database
   * is unavailable. `isLost` where what follows `from` is not known.
   */
  begin(from: Position | undefined): Promise<{ position: Position; isLost: boolean }>
  /** Gives the reader all changes after its position, in order, until it is closed. */
  follow(reader: FeedReader): Promise<void>
  /** Tells the readers that have nothing outstanding how far was read. */
  mark(): void
  close(): Promise<void>
}

interface FeedOptions {
  db(): mongo.Db | undefined
  view: ThreadView
  log: Log
}

const RETRY_MS = 1_000
/** Readers come back to another gateway in a moment; the stream stays open so long after the last one. */
const LINGER_MS = 30_000
/** Whoever is still behind then is brought up further in a later turn. */
const MAX_GROUP_MS = 5_000
/** Readers whose positions are so close together are brought up in one turn. */
const GROUP_SECONDS = 60

/**
 * Reads the changes of the database once for all readers of this instance, while there are any. A reader whose position
 * is among the last changes goes on from memory; the others are brought there together by a second stream, which begins
 * at the first of their positions. Those who are far behind and those who are not take turns.
 */
export function createChangeFeed(options: FeedOptions): ChangeFeed {
  return new SharedFeed(options)
}

class SharedFeed implements ChangeFeed {
  readonly #options: FeedOptions
  readonly #live = new Set<FeedReader>()
  readonly #behind = new Map<FeedReader, () => void>()
  #recent: RecentChanges | undefined
  #tail: { stop(): Promise<void> } | undefined
  #catchingUp: Promise<void> | undefined
  #usedAt = 0
  #isClosing = false

  constructor(options: FeedOptions) {
    this.#options = options
  }

  async begin(from: Position | undefined): Promise<{ position: Position; isLost: boolean }> {
    const now = keyAfter(await this.#operationTime())
    this.#open(now)
    const isLost = from !== undefined && from.key > now
    return { position: from === undefined || isLost ? { key: now } : from, isLost }
  }

  async follow(reader: FeedReader): Promise<void> {
    while (!reader.isClosed()) {
      if (this.#isClosing || this.#recent === undefined) reader.close()
      else if (isBehind(reader, this.#recent)) await this.#bringUp(reader)
      else if (this.#giveRecent(reader, this.#recent)) return void this.#live.add(reader)
      else await reader.drained()
    }
  }

  mark(): void {
    const until = this.#recent?.until()
    for (const reader of this.#live) {
      if (reader.isClosed()) this.#live.delete(reader)
      else if (until !== undefined) reader.moveOn(until)
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    for (const wake of this.#behind.values()) wake()
    await Promise.all([this.#tail?.stop(), this.#catchingUp])
  }

  async #operationTime(): Promise<mongo.Timestamp> {
    const reply = await this.#database().command({ ping: 1 })
    return reply.operationTime as mongo.Timestamp
  }

  #database(): mongo.Db {
    const db = this.#options.db()
    if (db === undefined) throw new Problem('unavailable')
    return db
  }

  #changesFrom(from: string): Changes {
    const { view, log } = this.#options
    return openChanges(this.#database(), { from, view, log })
  }

  #open(from: string): void {
    this.#usedAt = performance.now()
    if (this.#tail !== undefined || this.#isClosing) return
    const recent = createRecentChanges(from)
    this.#recent = recent
    const tail = every({
      pauseMs: RETRY_MS,
      run: async (signal) => {
        await this.#readTail(recent, signal)
        if (this.#tail === tail && this.#isUnused()) this.#stop()
      },
      failed: ({ message: reason }) =>
        this.#options.log.warn({ reason }, 'event streams interrupted: they continue in a second'),
    })
    this.#tail = tail
  }

  /** Returns when nobody reads any more. */
  async #readTail(recent: RecentChanges, signal: AbortSignal): Promise<void> {
    const changes = this.#changesFrom(recent.until())
    try {
      while (!signal.aborted && !this.#isUnused()) {
        const change = await changes.next()
        if (change === undefined) recent.moveOn(changes.readUntil())
        else if (change.key > recent.until()) this.#publish(change, recent)
      }
    } catch (error) {
      if (!isLost(error)) throw error
      this.#options.log.warn('the oplog no longer has what event streams have not read: they begin anew')
      this.#closeAll()
    } finally {
      await changes.close()
    }
  }

  #publish(change: Change, recent: RecentChanges): void {
    recent.add(change)
    for (const reader of this.#live) {
      if (reader.isClosed()) this.#live.delete(reader)
      else give(reader, change)
    }
  }

  /** Each comes back, and is told then what it has lost. */
  #closeAll(): void {
    for (const reader of [...this.#live, ...this.#behind.keys()]) reader.close()
    this.#live.clear()
    this.#stop()
  }

  #isUnused(): boolean {
    if (this.#live.size > 0 || this.#behind.size > 0) this.#usedAt = performance.now()
    return performance.now() - this.#usedAt > LINGER_MS
  }

  #stop(): void {
    void this.#tail?.stop()
    this.#tail = undefined
    this.#recent = undefined
  }

  /** True when the reader has all that was read so far. */
  #giveRecent(reader: FeedReader, recent: RecentChanges): boolean {
    for (const change of recent.from(reader.position.key)) {
      if (reader.isFull()) return false
      give(reader, change)
    }
    return true
  }

  #bringUp(reader: FeedReader): Promise<void> {
    return new Promise((resolve) => {
      this.#behind.set(reader, resolve)
      this.#catchingUp ??= this.#catchUp().finally(() => {
        this.#catchingUp = undefined
      })
    })
  }

  async #catchUp(): Promise<void> {
    // Those who come at the same time are brought up together.
    await pause(0)
    for (let turn = 0; this.#behind.size > 0 && !this.#isClosing; turn++) {
      const group = groupOf([...this.#behind.keys()], turn % 2 === 0 ? 'newest' : 'oldest')
      try {
        if (await this.#isCaughtUp(group)) for (const reader of group) this.#release(reader)
      } catch (error) {
        await this.#retryLater(error)
      }
    }
    for (const reader of this.#behind.keys()) this.#release(reader)
  }

  /** True if the group was given the changes it missed; else its first reader was told that they are lost. */
  async #isCaughtUp(group: FeedReader[]): Promise<boolean> {
    try {
      await this.#catchUpGroup(group)
      return true
    } catch (error) {
      if (!isLost(error)) throw error
      await this.#loseFirst(group)
      return false
    }
  }

  async #catchUpGroup(group: FeedReader[]): Promise<void> {
    const deadline = performance.now() + MAX_GROUP_MS
    const from = firstOf(group).position.key
    const changes = this.#changesFrom(from)
    try {
      while (!this.#isClosing && performance.now() < deadline) {
        const change = await changes.next()
        const readers = group.filter((reader) => !reader.isClosed())
        if (change !== undefined) for (const reader of readers) give(reader, change)
        const until = changes.readUntil()
        if (readers.length === 0 || this.#recent === undefined) return
        if (until >= this.#recent.since()) return passOver(readers, until)
        await Promise.all(readers.filter((reader) => reader.isFull()).map((reader) => reader.drained()))
      }
    } finally {
      await changes.close()
    }
  }

  async #loseFirst(group: FeedReader[]): Promise<void> {
    const first = firstOf(group)
    const now = keyAfter(await this.#operationTime())
    first.position = { key: now }
    first.gap(now)
    this.#release(first)
  }

  async #retryLater(error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : 'unknown'
    this.#options.log.warn({ reason }, 'event streams can not catch up: tried again in a second')
    await pause(RETRY_MS)
    for (const reader of this.#behind.keys()) if (reader.isClosed()) this.#release(reader)
  }

  #release(reader: FeedReader): void {
    const wake = this.#behind.get(reader)
    this.#behind.delete(reader)
    wake?.()
  }
}

/** A reader is given each change once, whichever stream comes with it first. */
function give(reader: FeedReader, change: Change): void {
  const seen = seenOf(reader.position, change.key)
  if (seen === Number.POSITIVE_INFINITY) return
  reader.position = { key: change.key }
  if (change.workspace === reader.workspace && seen < change.events.length) reader.offer(change, seen)
}

/** Of a change that was seen in part the rest is needed, too. */
function isBehind({ position: { key, seen } }: FeedReader, recent: RecentChanges): boolean {
  return key < recent.since() || (seen !== undefined && key === recent.since())
}

/** All up to `until` was given. */
function passOver(readers: FeedReader[], until: string): void {
  for (const reader of readers) if (until > reader.position.key) reader.position = { key: until }
}

/** The readers who are about as far behind as the one who is least, or most. */
function groupOf(readers: FeedReader[], which: 'newest' | 'oldest'): FeedReader[] {
  const seconds = (reader: FeedReader) => timeOf(reader.position.key).getHighBitsUnsigned()
  const all = readers.map(seconds)
  const pick = which === 'newest' ? Math.max : Math.min
  const chosen = all.reduce((one, other) => pick(one, other))
  return readers.filter((_reader, at) => Math.abs((all[at] ?? 0) - chosen) <= GROUP_SECONDS)
}

function firstOf(group: FeedReader[]): FeedReader {
  return group.reduce((first, reader) => (reader.position.key < first.position.key ? reader : first))
}
