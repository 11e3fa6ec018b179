import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { ThreadRecord } from '../../message/thread-record.ts'
import { publishReplay } from '../../schedule/publish-replay.ts'
import type { Collections } from '../../store/collections.ts'
import { partitionsOfThread } from '../../store/layout-record.ts'
import {
  giveToAssistant,
  giveToPerson,
  type OpenThread,
  untilNothingLeaves,
} from '../../thread-log/take-over.ts'

/** What people change of a thread. */
export const threadChange = z
  .strictObject({
    handler: z.enum(['assistant', 'person']).optional().describe('Who has it: `person` takes it over'),
    unread: z.literal(0).optional().describe('Marks it as read'),
  })
  .refine(({ handler, unread }) => handler !== undefined || unread !== undefined, 'changes nothing')

interface ChangeOptions {
  collections: Pick<Collections, 'threads' | 'messages' | 'layouts'>
  authorizer: Authorizer
  publisher: Pick<Publisher, 'publish'>
  retentionMs: number
}

/**
 * Changes a thread, and resolves with it as it then is. Once a person has it nothing of an agent or a handler leaves any
 * more. Throws `forbidden` where the role may not write what it becomes, `not_found` where it was erased meanwhile.
 */
export async function changeThread(
  options: ChangeOptions,
  { thread, change, caller }: { thread: ThreadRecord; change: z.output<typeof threadChange>; caller: Caller },
): Promise<ThreadRecord> {
  const { collections, authorizer } = options
  const allowed = await authorizer.require(caller, 'threads', 'write')
  if (allowed.kind === 'some' && !allowed.test({ ...thread, ...change }))
    throw new Problem('forbidden', { detail: 'The role may not write what the thread becomes.' })
  const { _id, workspace } = thread
  if (change.handler === 'person') await takeOver(options, thread)
  if (change.handler === 'assistant') await giveToAssistant(collections, await placeOf(options, thread))
  if (change.unread === 0) await collections.threads.updateOne({ _id, workspace }, markedAsRead())
  const changed = await collections.threads.findOne({ _id, workspace })
  if (changed === null) throw new Problem('not_found')
  return changed
}

async function takeOver(options: ChangeOptions, thread: ThreadRecord): Promise<void> {
  const { collections, publisher } = options
  const place = await placeOf(options, thread)
  const marked = await giveToPerson(collections, place, { given: { by: 'person' } })
  // Whatever they wait for, they end at once. Without a broker they do when they have waited.
  await Promise.all(marked.map((one) => publishReplay(publisher, one, { onlyOpen: true }).catch(() => {})))
  if (marked.length > 0) await untilNothingLeaves(collections, place)
}

async function placeOf(
  { collections, retentionMs }: ChangeOptions,
  { workspace, channel, extId, joined = [] }: ThreadRecord,
): Promise<OpenThread> {
  const partitions = await partitionsOfThread(collections.layouts, { workspace, extId, joined })
  return { workspace, channel, extId, joined, partitions, retentionMs }
}

/** What was counted so far was read, by the messages' own times. */
function markedAsRead(): mongo.BSON.Document[] {
  return [{ $set: { unread: 0, readAt: { $ifNull: ['$lastUnreadAt', '$lastAt'] } } }]
}
