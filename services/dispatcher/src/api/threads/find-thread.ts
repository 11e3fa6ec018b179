import type { Authorizer } from '@parley/shared/authorizer'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { writeFromMessages } from '../../conversations/write-threads.ts'
import {
  nameIn,
  type ThreadName,
  type ThreadRecord,
  threadId,
  threadIdRange,
} from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'

const QUERY_MS = 5_000
/** Channels that have a thread of one `extId`, of which more than one is a conflict already. */
const MAX_CHANNELS = 20

export interface ThreadStore {
  collections: Pick<Collections, 'threads' | 'messages' | 'messageWords' | 'layouts' | 'audited' | 'removed'>
  authorizer: Authorizer
  retentionMs: number
}

/** Threads of one workspace, all or some. */
export type VisibleThreads = mongo.Filter<ThreadRecord> & { workspace: number }

type Locals = { locals: Record<string, unknown> }

/** The threads of the caller's workspace that its role lets it read. Throws `forbidden` for none. */
export async function visibleThreads(res: Locals, authorizer: Authorizer): Promise<VisibleThreads> {
  const caller = callerOf(res)
  const decision = await authorizer.require(caller, 'threads', 'read')
  const workspace = caller.workspace._id
  return decision.kind === 'some' ? { workspace, $and: [decision.filter] } : { workspace }
}

/**
 * The thread that a path names, by its `extId` or by its `_id`. Throws `not_found` where the caller may not read it, or
 * there is none; `forbidden` where it may not be written; `several_channels` where several have one of that `extId`.
 */
export async function requireThread(
  store: ThreadStore,
  res: Locals,
  asked: { id: string; channel: string | undefined; access: 'read' | 'write' },
): Promise<ThreadRecord> {
  const caller = callerOf(res)
  const { authorizer } = store
  const readable = await authorizer.require(caller, 'threads', 'read')
  const allowed = asked.access === 'read' ? readable : await authorizer.require(caller, 'threads', 'write')
  const workspace = caller.workspace._id
  const found = await threadsNamed(store, { ...asked, workspace })
  const [thread, ...others] = found.filter((one) => allows(readable, one))
  if (thread === undefined) throw new Problem('not_found')
  if (others.length > 0)
    throw new Problem('several_channels', {
      detail: `Several channels have such a thread: ${[thread, ...others].map(({ channel }) => JSON.stringify(channel)).join(', ')}.`,
    })
  if (!allows(allowed, thread))
    throw new Problem('forbidden', { detail: 'The role may not write this thread.' })
  return thread
}

/** A document that was not written yet is made from the messages. */
async function threadsNamed(
  { collections, retentionMs }: ThreadStore,
  { workspace, id, channel }: { workspace: number; id: string; channel: string | undefined },
): Promise<ThreadRecord[]> {
  const named = nameIn(id)
  const isOpaque = named !== undefined && (channel === undefined || channel === named.channel)
  const lookUp = async () => {
    const byId = isOpaque ? await findIn(collections, [{ workspace, ...named }]) : []
    if (byId.length > 0) return byId
    if (channel !== undefined) return findIn(collections, [{ workspace, channel, extId: id }])
    return collections.threads
      .find({ _id: threadIdRange({ workspace, extId: id }), ...EXISTS }, { maxTimeMS: QUERY_MS })
      .limit(MAX_CHANNELS)
      .toArray()
  }
  const found = await lookUp()
  if (found.length > 0) return goingOn(collections, workspace, found)
  const unwritten = [
    ...(isOpaque ? [named] : []),
    { extId: id, ...(channel === undefined ? {} : { channel }) },
  ]
  await writeFromMessages(collections, { workspace, names: unwritten, retentionMs })
  return goingOn(collections, workspace, await lookUp())
}

/** There is a thread, here or where it goes on. */
const EXISTS = { $or: [{ workspace: { $exists: true } }, { joinedInto: { $exists: true } }] }

/** The threads, with the ones that go on in others as these. */
async function goingOn(
  collections: ThreadStore['collections'],
  workspace: number,
  found: ThreadRecord[],
): Promise<ThreadRecord[]> {
  const others = found.flatMap(({ channel, joinedInto: extId }) =>
    extId === undefined ? [] : { workspace, channel, extId },
  )
  const own = found.filter(({ joinedInto }) => joinedInto === undefined)
  const known = new Set(own.map(({ _id }) => _id))
  const missing = others.filter((name) => !known.has(threadId(name)))
  return missing.length === 0 ? own : [...own, ...(await findIn(collections, missing))]
}

function findIn({ threads }: ThreadStore['collections'], names: ThreadName[]): Promise<ThreadRecord[]> {
  return threads.find({ _id: { $in: names.map(threadId) }, ...EXISTS }, { maxTimeMS: QUERY_MS }).toArray()
}
