import { THREAD_EVENTS, type ThreadEvent } from '@parley/shared/event-types'
import type { JsonObject } from '@parley/shared/json-object'
import type { mongo } from 'mongoose'
import { type HandedOff, publicId, type ThreadRecord, type UnreadFor } from '../message/thread-record.ts'
import type { NewDelivery } from './insert-deliveries.ts'
import { type ExtIdOf, isOfChannel } from './message-deliveries.ts'
import type { Subscription } from './subscriptions.ts'

const BATCH = 100
const MAX_LOOKED_AT = 10_000

/** A write to a thread that an event follows from. */
export interface ThreadWrite {
  kind: 'thread'
  _id: string
  /** It made the thread's document, or began it anew after it was erased. */
  isOpened: boolean
  /** It gave the thread to a person. */
  handedOff?: HandedOff | undefined
  /** It says that a message ended without an answer. */
  unreadFor?: UnreadFor | undefined
  at?: Date | undefined
}

/** Of the writes to threads, most of which are what was said last. */
export const THREAD_WRITES: mongo.Document = {
  'ns.coll': 'threads',
  $or: [
    { operationType: 'insert' },
    {
      operationType: 'update',
      $or: ['workspace', 'handedOff', 'unreadFor'].map((field) => ({
        [`updateDescription.updatedFields.${field}`]: { $exists: true },
      })),
    },
  ],
}
/** The fields of a change that {@link threadWriteOf} needs. */
export const THREAD_FIELDS: mongo.Document = {
  operationType: 1,
  'fullDocument.handedOff': 1,
  'updateDescription.updatedFields.workspace': 1,
  'updateDescription.updatedFields.handedOff': 1,
  'updateDescription.updatedFields.unreadFor': 1,
}

export function threadWriteOf(change: mongo.Document): ThreadWrite {
  const { operationType, documentKey, fullDocument, updateDescription, wallTime } = change
  const changed = updateDescription?.updatedFields ?? {}
  const isOpened = operationType === 'insert' || changed.workspace !== undefined
  const handedOff = fullDocument?.handedOff ?? changed.handedOff
  const { unreadFor } = changed
  return { kind: 'thread', _id: String(documentKey._id), isOpened, handedOff, unreadFor, at: wallTime }
}

/** Yields the writes of threads that were active, or given to a person, after `from`: the latest 10,000 of each. */
export async function* threadsChangedSince(
  threads: mongo.Collection<ThreadRecord>,
  workspace: number,
  { from, since }: { from: Date; since: Date },
): AsyncGenerator<ThreadWrite[]> {
  const isSince = (at: Date | undefined) => at !== undefined && at >= since
  const read = (filter: mongo.Filter<ThreadRecord>, sort: mongo.Sort) =>
    threads
      .find({ workspace, ...filter }, { projection: { openedAt: 1, handedOff: 1, unreadFor: 1 } })
      .sort(sort)
      .limit(MAX_LOOKED_AT)
      .toArray()
  const active = await read({ lastAt: { $gte: from } }, { lastAt: -1, _id: -1 })
  const given = await read({ 'handedOff.at': { $gte: since } }, { 'handedOff.at': -1 })
  const found = new Map([...active, ...given].map((thread) => [thread._id, thread]))
  const writes = [...found.values()].flatMap(({ _id, openedAt, handedOff, unreadFor }): ThreadWrite[] => {
    const write = {
      isOpened: isSince(openedAt),
      handedOff: isSince(handedOff?.at) ? handedOff : undefined,
      unreadFor: isSince(unreadFor?.at) ? unreadFor : undefined,
    }
    return write.isOpened || write.handedOff || write.unreadFor ? [{ kind: 'thread', _id, ...write }] : []
  })
  for (let at = 0; at < writes.length; at += BATCH) yield writes.slice(at, at + BATCH)
}

export const namesThreads = ({ events }: Pick<Subscription, 'events'>): boolean =>
  THREAD_EVENTS.some((type) => events.has(type))

/** The deliveries of the events of threads, in the order of the writes. An erased thread has none. */
export async function threadDeliveries(
  { threads, extIdOf, viewOf }: ThreadSources,
  writes: readonly ThreadWrite[],
  subscribed: ReadonlyMap<number, readonly Subscription[]>,
): Promise<NewDelivery[]> {
  const ids = [...new Set(writes.map(({ _id }) => _id))]
  const found = await threads
    .find({ _id: { $in: ids }, workspace: { $in: [...subscribed.keys()] } })
    .toArray()
  const byId = new Map(found.map((thread) => [thread._id, thread]))
  const deliveries: NewDelivery[] = []
  for (const write of writes) {
    const thread = byId.get(write._id)
    for (const one of (thread && subscribed.get(thread.workspace)) ?? []) {
      if (thread === undefined || one.isFull || !(await isOfChannel(one, thread, extIdOf))) continue
      const due = eventsOf(thread, write).filter(
        ({ type, at }) => one.events.has(type) && at.getTime() >= one.activeSince,
      )
      const data = viewOf(thread) as JsonObject
      deliveries.push(...due.map((event) => deliveryOf(one, thread, { ...event, data })))
    }
  }
  return deliveries
}

interface ThreadSources {
  threads: mongo.Collection<ThreadRecord>
  extIdOf: ExtIdOf
  viewOf(thread: ThreadRecord): object
}

interface ThreadHappening {
  type: ThreadEvent
  /** Makes it unique within the thread. */
  at: Date
  said: JsonObject
}

function eventsOf(
  { openedAt }: ThreadRecord,
  { isOpened, handedOff, unreadFor }: ThreadWrite,
): ThreadHappening[] {
  const events: ThreadHappening[] = []
  if (isOpened && openedAt !== undefined) events.push({ type: 'thread.opened', at: openedAt, said: {} })
  if (unreadFor?.why === 'unanswered') {
    const { at, message, reason = null } = unreadFor
    events.push({ type: 'thread.unanswered', at, said: { message, reason } })
  }
  if (handedOff === undefined) return events
  const { at, by, reason } = handedOff
  return [...events, { type: 'thread.handed_off', at, said: { by, reason: reason ?? null } }]
}

function deliveryOf(
  subscription: Subscription,
  thread: ThreadRecord,
  { type, at, said, data: view }: ThreadHappening & { data: JsonObject },
): NewDelivery {
  const data = { ...view, ...said }
  return {
    subscription,
    event: type,
    record: `threads/${publicId(thread)}`,
    line: `thread/${thread.extId}`,
    key: `${type}:${at.getTime()}`,
    at,
    data,
    shortData: data,
  }
}
