import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { scopeOf } from '../../agents/active-task.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'
import type { Delivery } from '../../message/delivery.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import {
  type NoteRecord,
  ofThread,
  publicId,
  type ThreadName,
  type ThreadRecord,
  threadIdRange,
} from '../../message/thread-record.ts'
import { admits } from '../assistant/require-assistant.ts'

const BATCH = 1_000
const QUERY_MS = 5_000

/** The scope of an erasure: a thread, and some of its messages or none. */
interface Erased extends ThreadName {
  /** Of threads that go on in it. */
  joined: readonly string[]
  messageIds: string[]
  /** Those of the thread's tasks that go with it. */
  tasks: ErasableTasks
}

/** Erases what is stored elsewhere of a thread or its messages. Idempotent; rejects with `unavailable`. */
export type Eraser = (erased: Erased) => Promise<void>

/** Large audio is with the webhook service. */
export function eraseAudio(webhook: Pick<InternalClient, 'post'>): Eraser {
  return async ({ workspace, messageIds }) => {
    if (messageIds.length > 0)
      await webhook.post(`/internal/workspaces/${workspace}/audio/erase`, { ids: messageIds })
  }
}

/** Erases the notes of the team on a thread. */
export function eraseNotes(notes: mongo.Collection<NoteRecord>): Eraser {
  return async ({ workspace, channel, extId, joined, messageIds }) => {
    if (messageIds.length === 0)
      await notes.deleteMany({ workspace, channel, thread: ofThread({ extId, joined }) })
  }
}

/**
 * Whose thread it is is with the webhook service, which gives who comes back a new one. It stays as long as the person
 * has a thread on another channel.
 */
export function erasePerson(
  webhook: Pick<InternalClient, 'post'>,
  threads: mongo.Collection<ThreadRecord>,
): Eraser {
  return async ({ workspace, channel, extId: thread, messageIds }) => {
    if (messageIds.length > 0) return
    const others = { _id: threadIdRange({ workspace, extId: thread }), workspace, channel: { $ne: channel } }
    if ((await threads.findOne(others, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })) === null)
      await webhook.post(`/internal/workspaces/${workspace}/people/forget`, { thread })
  }
}

/** The context of the thread's tasks is with configuration, also in their history. */
export function eraseTasks(configuration: Pick<InternalClient, 'post'>): Eraser {
  return async ({ workspace, messageIds, tasks: { scope, ids, areForgotten } }) => {
    if (messageIds.length === 0 && ids.length > 0)
      await configuration.post(`/internal/workspaces/${workspace}/tasks/erase`, {
        ...{ ...scope, ids },
        ...defined({ areForgotten }),
      })
  }
}

/** The tasks of a thread that are erased with it. */
export interface ErasableTasks {
  /** How configuration is told of the thread. */
  scope: object
  ids: number[]
  /** How many are left out, since the caller may not write them. */
  left: number
  /** Their person is erased: it is forgotten, too, of which thread they are. */
  areForgotten?: boolean
}

const foundTasks = z.object({ data: z.array(z.object({ _id: z.number(), task: jsonObject.nullable() })) })

/**
 * The tasks of a thread that a caller may erase; what is left of one that was deleted, where it may write all there are.
 * Asked before anything of the thread goes. Rejects with `unavailable`.
 */
export async function erasableTasks(
  { authorizer, ...needed }: TaskStore,
  { caller, thread: { channel, extId } }: { caller: Caller; thread: ThreadName },
): Promise<ErasableTasks> {
  const workspace = caller.workspace._id
  const { scope, found } = await tasksOfThread(needed, { workspace, channel, extId })
  const writable = await authorizer.decide(caller, 'tasks', 'write')
  const ids = found
    .filter(({ task }) => (task === null ? writable.kind === 'all' : admits(writable, task)))
    .map(({ _id }) => _id)
  const chosen = new Set(ids)
  return { scope, ids, left: found.filter(({ _id, task }) => task !== null && !chosen.has(_id)).length }
}

/** All tasks of a thread; null for one that was deleted. Rejects with `unavailable`. */
export async function tasksOfThread(
  { configuration, isFirstOfName }: Omit<TaskStore, 'authorizer'>,
  { workspace, channel, extId }: ThreadName,
) {
  const scope = await scopeOf(isFirstOfName, { workspace, channel, thread: extId })
  const asked = new URLSearchParams(Object.entries(scope).map(([name, value]) => [name, String(value)]))
  const path = `/internal/workspaces/${workspace}/tasks/of-thread?${asked}`
  return { scope, found: foundTasks.parse(await configuration.get(path)).data }
}

interface TaskStore {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
}

/**
 * Deliveries of events of the messages and the thread have what was said. At the end those of messages that are gone go as
 * well: they ended before, or their events were found in the meantime.
 */
export function eraseDeliveries(collections: {
  deliveries: mongo.Collection<Delivery>
  messages: mongo.Collection<MessageRecord>
}): Eraser {
  const { deliveries } = collections
  return async ({ messageIds, ...thread }) => {
    const of = { workspace: thread.workspace, line: `thread/${thread.extId}` }
    if (messageIds.length > 0) {
      await deliveries.deleteMany({ ...of, record: { $in: messageIds.map((id) => `messages/${id}`) } })
      return
    }
    await deliveries.deleteMany({ ...of, record: `threads/${publicId(thread)}` })
    for await (const records of recordsIn(deliveries, of))
      await deliveries.deleteMany({ ...of, record: { $in: await goneOf(collections.messages, records) } })
  }
}

/** Yields the records that deliveries of a line are about, in batches; some may come again. */
async function* recordsIn(
  deliveries: mongo.Collection<Delivery>,
  of: Pick<Delivery, 'workspace' | 'line'>,
): AsyncGenerator<Set<string>> {
  const found = deliveries.find(of, { projection: { record: 1 }, batchSize: BATCH, maxTimeMS: QUERY_MS })
  let records = new Set<string>()
  for await (const { record } of found) {
    records.add(record)
    if (records.size < BATCH) continue
    yield records
    records = new Set()
  }
  yield records
}

/** Threads of the same `extId` on other channels have the same line. */
async function goneOf(messages: mongo.Collection<MessageRecord>, records: Set<string>): Promise<string[]> {
  const about = [...records].filter((record) => record.startsWith('messages/'))
  const ids = about.map((record) => record.slice('messages/'.length))
  const found = await messages.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray()
  const there = new Set(found.map(({ _id }) => `messages/${_id}`))
  return about.filter((record) => !there.has(record))
}
