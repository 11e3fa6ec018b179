import { MESSAGE_EVENTS, type MessageEvent } from '@parley/shared/event-types'
import type { JsonObject } from '@parley/shared/json-object'
import type { mongo } from 'mongoose'
import { MESSAGE_STATES, type MessageRecord, type TimelineEntry } from '../message/message-record.ts'
import { isRunAgain } from '../message/progress.ts'
import type { NewDelivery } from './insert-deliveries.ts'
import type { Subscription } from './subscriptions.ts'

const PASSED = ['sent', 'delivered', 'read'] as const

const BATCH = 100
const MAX_LOOKED_AT = 10_000
const CLOCKS_MS = 10_000

/** A write to a message; what it is now is read when it is dealt with. */
export interface MessageWrite {
  kind: 'message'
  _id: string
  at?: Date | undefined
}

export const MESSAGE_WRITES: mongo.Document = {
  'ns.coll': 'messages',
  operationType: { $in: ['insert', 'update', 'replace'] },
}

export const namesMessages = ({ events }: Pick<Subscription, 'events'>): boolean =>
  MESSAGE_EVENTS.some((type) => events.has(type))

/** The messages that came in after `from` and were changed after `since`, the latest 10,000. */
export async function* messagesChangedSince(
  messages: mongo.Collection<MessageRecord>,
  workspace: number,
  { from, since }: { from: Date; since: Date },
): AsyncGenerator<MessageWrite[]> {
  const updatedAt = { $gte: new Date(since.getTime() - CLOCKS_MS) }
  const found = await messages
    .find(
      { workspace, state: { $in: [...MESSAGE_STATES] }, receivedAt: { $gte: from } },
      { projection: { _id: 1, updatedAt: 1 } },
    )
    .sort({ receivedAt: -1, _id: -1 })
    .limit(MAX_LOOKED_AT)
    .toArray()
  const writes = found
    .filter((record) => record.updatedAt >= updatedAt.$gte)
    .map(({ _id }): MessageWrite => ({ kind: 'message', _id }))
    .reverse()
  for (let at = 0; at < writes.length; at += BATCH) yield writes.slice(at, at + BATCH)
}

interface MessageSources {
  messages: mongo.Collection<MessageRecord>
  extIdOf: ExtIdOf
  detailOf(record: MessageRecord): object
  summaryOf(record: MessageRecord): object
}

/** The deliveries of what has become of messages, in their order. An erased message has none. */
export async function messageDeliveries(
  sources: MessageSources,
  writes: readonly MessageWrite[],
  subscribed: ReadonlyMap<number, readonly Subscription[]>,
): Promise<NewDelivery[]> {
  const ids = [...new Set(writes.map(({ _id }) => _id))]
  const workspace = { $in: [...subscribed.keys()] }
  const records = await sources.messages.find({ _id: { $in: ids }, workspace }).toArray()
  const deliveries: NewDelivery[] = []
  for (const record of records.toSorted((one, other) => one.order - other.order))
    for (const one of subscribed.get(record.workspace) ?? [])
      deliveries.push(...(await deliveriesOf(record, one, sources)))
  return deliveries
}

async function deliveriesOf(
  record: MessageRecord,
  subscription: Subscription,
  sources: MessageSources,
): Promise<NewDelivery[]> {
  const { activeSince, events, isFull } = subscription
  if (isFull || !(await isOfChannel(subscription, record, sources.extIdOf))) return []
  const due = eventsOfMessage(record).filter(
    ({ type, storedBy }) => events.has(type) && storedBy >= activeSince,
  )
  if (due.length === 0) return []
  const { data, shortData } = viewOf(record, sources)
  return due.map(({ key, type, at }) => ({
    subscription,
    event: type,
    record: `messages/${record._id}`,
    line: `thread/${record.thread}`,
    key,
    at,
    data,
    shortData,
  }))
}

const seen = new WeakMap<MessageRecord, { data: JsonObject; shortData: JsonObject }>()

/** The same object for all subscriptions. */
function viewOf(record: MessageRecord, { detailOf, summaryOf }: MessageSources) {
  const known = seen.get(record)
  if (known !== undefined) return known
  const view = { data: detailOf(record) as JsonObject, shortData: summaryOf(record) as JsonObject }
  seen.set(record, view)
  return view
}

/** Looks up the external id of a channel, for a subscription to one channel. */
export type ExtIdOf = (workspace: number, channel: number) => Promise<string | undefined>

/** True if a subscription covers the channel of a message or a thread, or all channels. */
export async function isOfChannel(
  { workspace, channel }: Pick<Subscription, 'workspace' | 'channel'>,
  record: { channel: string; channelId?: number | undefined },
  extIdOf: ExtIdOf,
): Promise<boolean> {
  if (channel === undefined || channel === record.channelId) return true
  return record.channelId === undefined && (await extIdOf(workspace, channel)) === record.channel
}

/** Something that happened to a record. */
export interface RecordEvent {
  /** Unique within the record, and the same whenever it is derived again. */
  key: string
  type: string
  at: Date
  /** When it was stored, at the latest, in milliseconds since the epoch: providers have clocks of their own. */
  storedBy: number
}

/**
 * The events that a message entails as it stands, in order. Every state that it has passed has one, also those that its
 * timeline leaves out because a later one came at the same moment: what was read was delivered and sent. Each run of a
 * message that is run again has events of its own.
 */
export function eventsOfMessage(
  record: Pick<MessageRecord, 'timeline' | 'receivedAt' | 'updatedAt'>,
): RecordEvent[] {
  const { timeline, receivedAt, updatedAt } = record
  const events: RecordEvent[] = [
    { key: 'received', type: 'message.received', at: receivedAt, storedBy: receivedAt.getTime() },
  ]
  let run = 0
  let passed = 0
  for (const [position, entry] of timeline.entries()) {
    if (isRunAgain(entry)) {
      run = entry.at.getTime()
      passed = 0
    }
    const isLast = position === timeline.length - 1
    const storedBy = Math.max(entry.at.getTime(), isLast ? updatedAt.getTime() : 0)
    const add = (state: 'sent' | 'delivered' | 'read' | 'failed' | 'dead') => {
      const type: MessageEvent = `message.${state}`
      events.push({ key: `${state}:${run}`, type, at: entry.at, storedBy })
    }
    for (; passed < rankOf(entry); passed++) add(PASSED[passed] ?? 'read')
    if (entry.state === 'failed' || entry.state === 'dead') add(entry.state)
  }
  return events
}

/** How many of the states that follow each other a message has passed with this one. */
function rankOf({ state }: TimelineEntry): number {
  return (PASSED as readonly string[]).indexOf(state) + 1
}
