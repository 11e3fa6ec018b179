import type { Log } from '@parley/shared/log'
import { type Relay, startRelay } from '@parley/shared/relay/relay'
import type { mongo } from 'mongoose'
import { deliveryId } from '../message/delivery.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { nameIn, type ThreadRecord, threadId } from '../message/thread-record.ts'
import type { EventCollections } from '../store/event-collections.ts'
import type { InsertDeliveries, NewDelivery } from './insert-deliveries.ts'
import {
  type ExtIdOf,
  MESSAGE_WRITES,
  type MessageWrite,
  messageDeliveries,
  messagesChangedSince,
  namesMessages,
} from './message-deliveries.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'
import {
  namesThreads,
  THREAD_FIELDS,
  THREAD_WRITES,
  type ThreadWrite,
  threadDeliveries,
  threadsChangedSince,
  threadWriteOf,
} from './thread-deliveries.ts'

/** Of what happened before a subscription was known here, or while the position was lost. */
const LOOK_BACK_MS = 60 * 60_000
const LOOK_BACK_AFTER_GAP_MS = 24 * LOOK_BACK_MS

type Write = MessageWrite | ThreadWrite

/** How messages and threads are shown to who may read them. */
export interface EventViews {
  detailOf(record: MessageRecord): object
  summaryOf(record: MessageRecord): object
  threadOf(thread: ThreadRecord): object
}

interface RelayMessagesOptions {
  messages: mongo.Collection<MessageRecord>
  threads: mongo.Collection<ThreadRecord>
  collections: Pick<EventCollections, 'relays' | 'subscribers' | 'deliveries'>
  db(): mongo.Db
  ready: Promise<unknown>
  subscriptions: Subscriptions
  insert: InsertDeliveries
  views: EventViews
  extIdOf: ExtIdOf
  log: Log
}

/**
 * Makes deliveries of what happens to messages and threads, in one instance at a time: it follows the writes to them,
 * reads what was written and inserts the deliveries of the events that follow from it, before it stores how far it got.
 * Nothing runs while no subscription names such an event.
 */
export function relayMessages(options: RelayMessagesOptions): Relay {
  const { db, subscriptions, log } = options
  const concerned = () => [...subscriptions.all()].filter(isConcerned)
  const catchUp = createCatchUp(options, concerned)
  return startRelay<Write>({
    name: 'messages',
    log,
    ready: Promise.all([options.ready, subscriptions.ready]),
    db,
    relays: () => options.collections.relays,
    stages: [
      { $match: { $or: [MESSAGE_WRITES, THREAD_WRITES] } },
      { $project: { ns: 1, documentKey: 1, wallTime: 1, ...THREAD_FIELDS } },
    ],
    changeOf: (change) =>
      change.ns.coll === 'threads'
        ? threadWriteOf(change)
        : { kind: 'message', _id: String(change.documentKey._id), at: change.wallTime },
    isNeeded: () => concerned().length > 0,
    async *snapshot(since) {
      if (since === undefined) return
      const from = new Date(since.getTime() - LOOK_BACK_AFTER_GAP_MS)
      for (const workspace of new Set(concerned().map((one) => one.workspace)))
        yield* changedSince(options, workspace, { from, since })
    },
    async handle(writes) {
      await catchUp()
      await deliver(options, writes, concerned())
    },
    idle: catchUp,
  })
}

const isConcerned = (one: Subscription): boolean => namesMessages(one) || namesThreads(one)

/** Makes the deliveries of what happened before a subscription was known here. */
function createCatchUp(
  options: RelayMessagesOptions,
  concerned: () => readonly Subscription[],
): () => Promise<void> {
  const { subscribers } = options.collections
  const caughtUp = new Set<string>()
  return async () => {
    for (const one of concerned()) {
      const name = `${one.key} ${one.activeSince}`
      if (caughtUp.has(name)) continue
      const _id = one.key
      const known = await subscribers.findOne({ _id })
      if (known?.caughtUp !== name) {
        const [from, since] = [new Date(one.activeSince - LOOK_BACK_MS), new Date(one.activeSince)]
        for await (const writes of changedSince(options, one.workspace, { from, since }))
          await deliver(options, writes, [one])
        await subscribers.updateOne({ _id }, { $set: { caughtUp: name } }, { upsert: true })
      }
      caughtUp.add(name)
    }
  }
}

async function* changedSince(
  { messages, threads }: Pick<RelayMessagesOptions, 'messages' | 'threads'>,
  workspace: number,
  times: { from: Date; since: Date },
): AsyncGenerator<Write[]> {
  yield* messagesChangedSince(messages, workspace, times)
  yield* threadsChangedSince(threads, workspace, times)
}

/** In the order of the writes: those to messages that follow each other are dealt with together. */
async function deliver(
  options: RelayMessagesOptions,
  writes: readonly Write[],
  to: readonly Subscription[],
): Promise<void> {
  const { messages, threads, insert, extIdOf, views } = options
  const subscribed = Map.groupBy(to, ({ workspace }) => workspace)
  for (const { kind, some } of runsOf(writes)) {
    const deliveries =
      kind === 'message'
        ? await messageDeliveries({ messages, extIdOf, ...views }, some, subscribed)
        : await threadDeliveries({ threads, extIdOf, viewOf: views.threadOf }, some, subscribed)
    await insert(deliveries)
    await withdrawErased(options, kind, deliveries)
  }
}

/** Deletes deliveries of records erased after the read: their eraser may have looked before the insert. */
async function withdrawErased(
  { messages, threads, collections }: RelayMessagesOptions,
  kind: Write['kind'],
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return
  const ids = deliveries.map(kind === 'message' ? messageOf : threadOf)
  // The mark of an erased thread has no workspace.
  const filter = { _id: { $in: [...new Set(ids)] }, workspace: { $exists: true } }
  const idAlone = { projection: { _id: 1 } } as const
  const found = await (kind === 'message'
    ? messages.find(filter, idAlone).toArray()
    : threads.find(filter, idAlone).toArray())
  const there = new Set(found.map(({ _id }) => _id))
  const gone = deliveries.filter((_, at) => !there.has(ids[at] ?? ''))
  if (gone.length === 0) return
  const _id = { $in: gone.map(({ subscription, record, key }) => deliveryId(subscription.key, record, key)) }
  await collections.deliveries.deleteMany({ _id })
}

const messageOf = ({ record }: NewDelivery): string => record.slice('messages/'.length)

/** Threads of two workspaces may have the same public id. */
function threadOf({ record, subscription: { workspace } }: NewDelivery): string {
  const name = nameIn(record.slice('threads/'.length))
  return name === undefined ? '' : threadId({ workspace, ...name })
}

type Run = { kind: 'message'; some: MessageWrite[] } | { kind: 'thread'; some: ThreadWrite[] }

function runsOf(writes: readonly Write[]): Run[] {
  const runs: Run[] = []
  for (const write of writes) {
    const last = runs.at(-1)
    if (write.kind === 'message' && last?.kind === 'message') last.some.push(write)
    else if (write.kind === 'thread' && last?.kind === 'thread') last.some.push(write)
    else runs.push({ kind: write.kind, some: [write] } as Run)
  }
  return runs
}
