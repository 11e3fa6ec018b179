import { defined } from '@parley/shared/defined'
import { isDuplicate } from '@parley/shared/insert-new'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import {
  handlerOf,
  MOST_LABELS,
  type ThreadName,
  type ThreadRecord,
  threadId,
  threadIdRange,
} from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import { giveToPerson } from './take-over.ts'
import { writeThread } from './write-threads.ts'

const QUERY_MS = 5_000
const MAX_CHANNELS = 20
const MAX_ROUNDS = 5
/** Longer than the messages of the thread are stored. */
const MARK_MS = 400 * 24 * 60 * 60 * 1_000
/** Later than anything that is written of a thread: what has joined does not begin anew. */
const NEVER = new Date(8.64e15)

type Needed = Pick<Collections, 'threads' | 'messages'>

/** A thread, and those that go on in it. */
type JoinedThread = ThreadName & { joined: readonly string[] }

/**
 * Lets the threads `joined` go on in another one of the same person, on each of their channels: both are read as one, and
 * whoever has one of them has it. Each step may be done again; whoever dies in the middle leaves it to the thread's
 * next message. What is open in a thread that has joined ends in its own order.
 */
export async function joinThreads(
  collections: Needed,
  { workspace, channel, extId, joined }: JoinedThread,
  retentionMs: number,
): Promise<void> {
  for (const name of joined) {
    const found = await collections.threads
      .find({ _id: threadIdRange({ workspace, extId: name }) }, { maxTimeMS: QUERY_MS })
      .project<Pick<ThreadRecord, 'channel'>>({ channel: 1 })
      .limit(MAX_CHANNELS)
      .toArray()
    for (const one of new Set([channel, ...found.flatMap((thread) => thread.channel ?? [])])) {
      const into = { workspace, channel: one, extId }
      await join(collections, { name, into, retentionMs })
    }
  }
}

/** Last of all it is marked, so that it is done again where it was not done wholly. */
async function join(
  collections: Needed,
  { name, into, retentionMs }: { name: string; into: ThreadName; retentionMs: number },
): Promise<void> {
  const { threads } = collections
  const { workspace, channel } = into
  const _id = threadId({ workspace, channel, extId: name })
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const own = await threads.findOne({ _id }, { maxTimeMS: QUERY_MS })
    if (own?.joinedInto === into.extId) return
    await takeOver(collections, { own, name, into, retentionMs })
    await writeThread(collections, into, retentionMs)
    if (await mark(threads, own, { _id, channel, extId: name, joinedInto: into.extId })) return
  }
  throw new Problem('unavailable', { detail: 'A thread that joins another one is written to all the time.' })
}

/** Passes data of the joining thread on to the other thread. */
async function takeOver(
  collections: Needed,
  options: { own: ThreadRecord | null; name: string; into: ThreadName; retentionMs: number },
): Promise<void> {
  const { threads } = collections
  const { own, name, into, retentionMs } = options
  const { workspace, channel, extId } = into
  const _id = threadId(into)
  const {
    lastInboundAt,
    contactName,
    handedOff,
    handlerUntil,
    joined = [],
    assignee,
    team,
    labels = [],
  } = own ?? {}
  const update = {
    $set: { workspace, channel, extId },
    $addToSet: { joined: { $each: [name, ...joined] } },
    // The summary of the other thread lacks the joining one's messages.
    $unset: { summary: '' as const },
    $max: { expiresAt: new Date(Date.now() + retentionMs), ...defined({ lastInboundAt }) },
    $setOnInsert: {
      ...{ user: own?.user ?? {}, handler: 'assistant' as const, lastMessage: '', lastAt: new Date(0) },
      ...{ unread: 0, openedAt: new Date() },
    },
  }
  await threads.updateOne({ _id }, update, { upsert: true })
  if (contactName !== undefined)
    await threads.updateOne({ _id, contactName: { $exists: false } }, { $set: { contactName } })
  if (assignee !== undefined)
    await threads.updateOne({ _id, assignee: { $exists: false } }, { $set: { assignee } })
  if (team !== undefined) await threads.updateOne({ _id, team: { $exists: false } }, { $set: { team } })
  if (labels.length > 0) await threads.updateOne({ _id }, [addLabels(labels)])
  if (own === null || handlerOf(own, Date.now()) === 'assistant') return
  const given = { by: handedOff?.by ?? 'person', ...defined({ reason: handedOff?.reason }) }
  const place = { ...into, partitions: [], retentionMs }
  await giveToPerson(collections, place, { given, ...defined({ until: handlerUntil }) })
}

/** As many as a thread may have, its own first. */
const addLabels = (labels: string[]) => {
  const own = { $ifNull: ['$labels', []] }
  const others = { $setDifference: [{ $literal: labels }, own] }
  return { $set: { labels: { $slice: [{ $concatArrays: [own, others] }, MOST_LABELS] } } }
}

/** In the place of a thread that has joined: in no list, and so that its name leads on. False where that was written meanwhile. */
async function mark(
  threads: Collections['threads'],
  own: ThreadRecord | null,
  named: Pick<ThreadRecord, '_id' | 'channel' | 'extId' | 'joinedInto'>,
): Promise<boolean> {
  const expiresAt = new Date(Date.now() + MARK_MS)
  const record = { user: {}, handler: 'assistant', lastMessage: '', lastAt: NEVER, unread: 0, expiresAt }
  const marked = { ...named, ...record } as ThreadRecord
  const { _id } = named
  if (own !== null) {
    const { handler, lastAt, unread, assignee = null, team = null, labels = null } = own
    const unchanged = { _id, handler, lastAt, unread, assignee, team, labels } as mongo.Filter<ThreadRecord>
    return (await threads.replaceOne(unchanged, marked)).matchedCount > 0
  }
  try {
    await threads.insertOne(marked)
    return true
  } catch (error) {
    if (!isDuplicate(error)) throw error
    return false
  }
}

/** The thread that goes on where one of that name is asked for: another, where it has joined that. */
export async function currentThread(
  threads: Pick<Collections['threads'], 'findOne'>,
  name: ThreadName,
): Promise<ThreadName> {
  const found = await threads.findOne(
    { _id: threadId(name), joinedInto: { $exists: true } },
    { projection: { joinedInto: 1 }, maxTimeMS: QUERY_MS },
  )
  return found?.joinedInto === undefined ? name : { ...name, extId: found.joinedInto }
}

/** Under which names messages of a thread are stored, by any of them. */
export async function namesOfThread(
  threads: Collections['threads'],
  named: { workspace: number; extId: string },
): Promise<string[]> {
  const { workspace, extId } = named
  const read = (name: string) =>
    threads
      .find({ _id: threadIdRange({ workspace, extId: name }) }, { maxTimeMS: QUERY_MS })
      .project<Pick<ThreadRecord, 'joined' | 'joinedInto'>>({ joined: 1, joinedInto: 1 })
      .limit(MAX_CHANNELS)
      .toArray()
  const own = await read(extId)
  const into = own.flatMap(({ joinedInto }) => joinedInto ?? [])
  const all = into[0] === undefined ? own : [...own, ...(await read(into[0]))]
  return [...new Set([extId, ...into, ...all.flatMap(({ joined }) => joined ?? [])])]
}
