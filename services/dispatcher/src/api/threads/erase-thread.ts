import { inTransaction } from '@parley/shared/transaction'
import type { mongo } from 'mongoose'
import { giveToPerson } from '../../conversations/take-over.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { ofThread, type ThreadRecord, threadId } from '../../message/thread-record.ts'
import { hourOf } from '../../store/audit-records.ts'
import type { Collections } from '../../store/collections.ts'
import { partitionsOfThread } from '../../store/layout-record.ts'
import { addUp } from '../../store/removed-hours.ts'
import type { ErasableTasks, Eraser } from './erasers.ts'

const BATCH = 200
const QUERY_MS = 5_000

/** An instance may write older changes to the thread for this many milliseconds after its mark. */
const MARK_MS = 60 * 60 * 1_000
const SNAPSHOT = { readConcern: { level: 'snapshot' } } as const

export interface Erasing {
  collections: Pick<Collections, 'threads' | 'messages' | 'messageWords' | 'layouts' | 'audited' | 'removed'>
  startSession(): mongo.ClientSession
  /** Those of what is stored elsewhere; each is asked with the messages, and at the end without any. */
  erasers: readonly Eraser[]
  retentionMs: number
}

/**
 * Erases what a person said and was told in a thread, with what other services have of it. The ids of its messages
 * stay among the audited ones, so that the count stays whole and reconciliation never publishes one again. What fails
 * in the middle may be done again; so does what is left after `until`, by the clock of `performance.now`: then it is false. Rejects with
 * `unavailable`.
 */
export async function eraseThread(
  options: Erasing,
  thread: ThreadRecord,
  tasks: ErasableTasks,
  { until = Number.POSITIVE_INFINITY } = {},
): Promise<boolean> {
  const { collections, erasers, retentionMs } = options
  const { workspace, channel, extId, joined = [] } = thread
  const name = { workspace, channel, extId }
  // Nothing more is answered while it goes.
  const partitions = await partitionsOfThread(collections.layouts, { ...name, joined })
  await giveToPerson(collections, { ...name, joined, partitions, retentionMs })
  for (;;) {
    const messageIds = await nextIds(collections.messages, thread)
    if (messageIds.length === 0) break
    if (performance.now() > until) return false
    for (const erase of erasers) await erase({ ...name, joined, messageIds, tasks })
    await eraseMessages(options, messageIds)
  }
  for (const erase of erasers) await erase({ ...name, joined, messageIds: [], tasks })
  const mark = markOf(Date.now()) as ThreadRecord
  for (const one of [extId, ...joined])
    await collections.threads.replaceOne({ _id: threadId({ ...name, extId: one }) }, mark, { upsert: true })
  return true
}

async function nextIds(
  messages: Collections['messages'],
  { workspace, channel, ...thread }: ThreadRecord,
): Promise<string[]> {
  const found = await messages
    .find({ workspace, thread: ofThread(thread), channel }, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
    .limit(BATCH)
    .toArray()
  return found.map(({ _id }) => _id)
}

/** Erases messages, so that they stay counted. */
export const eraseMessages = (options: Pick<Erasing, 'collections' | 'startSession'>, ids: string[]) =>
  inTransaction(options, (session) => eraseCounted(options.collections, ids, session), SNAPSHOT)

/** The same transaction says of each id that it was there, whether the audit has come to it yet or not. */
async function eraseCounted(
  { messages, messageWords, audited, removed }: Erasing['collections'],
  ids: string[],
  session: mongo.ClientSession,
): Promise<void> {
  const found = await messages
    .find({ _id: { $in: ids } }, { session })
    .project<Pick<MessageRecord, '_id' | 'workspace' | 'channel' | 'receivedAt' | 'state'>>({
      workspace: 1,
      channel: 1,
      receivedAt: 1,
      state: 1,
    })
    .toArray()
  await messageWords.deleteMany({ _id: { $in: ids } }, { session })
  if (found.length === 0) return
  await messages.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session })
  const counted = found.map(({ receivedAt, ...one }) => ({ ...one, hour: hourOf(receivedAt) }))
  const places = counted.map(({ _id, state: _state, ...one }) => ({
    updateOne: {
      filter: { _id },
      update: { $set: { ...one, place: 'erased' as const }, $unset: { trace: '' as const } },
      upsert: true,
    },
  }))
  await audited.bulkWrite(places, { session })
  await addUp(
    removed,
    counted.map(({ _id, ...one }) => ({ ...one, state: endOf(one.state) })),
    session,
  )
}

/** Returns the state after an erasure: a message that was in flight counts as done. */
function endOf(state: MessageRecord['state']): MessageRecord['state'] {
  return state === 'received' || state === 'handled' || state === 'sending' ? 'done' : state
}

/** Without workspace and names it is in no list; a message that comes later makes it a thread again. */
function markOf(now: number): Omit<ThreadRecord, '_id' | 'workspace' | 'channel' | 'extId'> {
  const [at, expiresAt] = [new Date(now), new Date(now + MARK_MS)]
  return { user: {}, handler: 'assistant', openedAt: at, lastMessage: '', lastAt: at, unread: 0, expiresAt }
}
