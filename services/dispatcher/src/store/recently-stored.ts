import type { MessageRecord } from '../message/message-record.ts'
import { type AuditedMessage, hourOf } from './audit-records.ts'

const GENERATION_MS = 30_000
const MAX_IDS = 50_000

type Place = Omit<AuditedMessage, '_id' | 'trace'>

/**
 * The messages that this instance has stored in the last 30 to 60 s, at most 100,000: the audit need not ask the database
 * for those. Only what the database has confirmed to be durable may be noted. One that is removed within that time is still found.
 */
export class RecentlyStored {
  readonly #now: () => number
  #latest = new Map<string, Place>()
  #earlier = new Map<string, Place>()
  #since: number
  /** Messages of one channel and hour have one object. */
  #place: Place | undefined

  /** `now` is in milliseconds, and never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#since = now()
  }

  note({ _id, workspace, channel, receivedAt }: NotedMessage): void {
    this.#expire()
    if (this.#latest.size >= MAX_IDS) this.#begin()
    const hour = hourOf(receivedAt)
    const same = this.#place
    const isSame =
      same?.workspace === workspace && same.channel === channel && same.hour.getTime() === hour.getTime()
    const place: Place = isSame ? same : { workspace, channel, hour, place: 'stored' }
    this.#place = place
    this.#latest.set(_id, place)
  }

  /** Where the message counts; undefined where it is not known that it is stored. */
  find(_id: string): AuditedMessage | undefined {
    this.#expire()
    const place = this.#latest.get(_id) ?? this.#earlier.get(_id)
    return place && { _id, ...place }
  }

  #expire(): void {
    const age = this.#now() - this.#since
    if (age >= GENERATION_MS) this.#begin()
    if (age >= 2 * GENERATION_MS) this.#earlier.clear()
  }

  #begin(): void {
    this.#earlier = this.#latest
    this.#latest = new Map()
    this.#since = this.#now()
  }
}

type NotedMessage = Pick<MessageRecord, '_id' | 'workspace' | 'channel' | 'receivedAt'>
