import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import { type Caller, callerSchema } from '@parley/shared/internal-token'
import { safeInteger } from '@parley/shared/json-object'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import {
  giveToAssistant,
  giveToPerson,
  type OpenThread,
  untilNothingLeaves,
} from '../../conversations/take-over.ts'
import { ofThread, type ThreadRecord } from '../../message/thread-record.ts'
import { publishReplay } from '../../schedule/publish-replay.ts'
import type { Collections } from '../../store/collections.ts'
import { partitionsOfThread } from '../../store/layout-record.ts'
import { threadLabels } from './list-threads.ts'

const QUERY_MS = 5_000
const MOST_SNOOZED_MS = 366 * 24 * 60 * 60 * 1_000

/** The fields that people change in a thread. */
export const threadChange = z
  .strictObject({
    handler: z.enum(['assistant', 'person']).optional().describe('Who has it: `person` takes it over'),
    unread: z.literal(0).optional().describe('Marks it as read'),
    assignee: safeInteger
      .nullable()
      .optional()
      .describe('Whose work it is: the `_id` of a user who may read it; null for nobody’s'),
    team: safeInteger
      .nullable()
      .optional()
      .describe('Which team’s work it is: the `_id` of one that the caller may read; null for none’s'),
    labels: threadLabels.optional().describe('All labels that it then has; 20 of 64 characters at most'),
    status: z
      .enum(['open', 'resolved', 'snoozed'])
      .optional()
      .describe('`resolved` and `snoozed` last until the person writes again'),
    snoozedUntil: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('With the status `snoozed`: when it is open again by itself; within a year'),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), 'changes nothing')
  .refine(({ status, snoozedUntil }) => (status === 'snoozed') === (snoozedUntil !== undefined), {
    path: ['snoozedUntil'],
    message: 'comes with the status snoozed, and that with it',
  })
  .refine(({ snoozedUntil }) => snoozedUntil === undefined || isSoon(Date.parse(snoozedUntil)), {
    path: ['snoozedUntil'],
    message: 'is later than now, by a year at most',
  })
type ThreadChange = z.output<typeof threadChange>

const isSoon = (at: number): boolean => at > Date.now() && at <= Date.now() + MOST_SNOOZED_MS

interface ChangeOptions {
  collections: Pick<Collections, 'threads' | 'messages' | 'layouts'>
  authorizer: Authorizer
  identity: Pick<InternalClient, 'get'>
  publisher: Pick<Publisher, 'publish'>
  retentionMs: number
}

/**
 * Changes a thread, and resolves with it as it then is. Once a person has it nothing of an agent or a handler leaves any
 * more. Throws `forbidden` where the role may not write what it becomes, `not_found` where it was erased meanwhile,
 * `validation_failed` for an assignee who may not read it, and a team that the caller may not read.
 */
export async function changeThread(
  options: ChangeOptions,
  { thread, change, caller }: { thread: ThreadRecord; change: ThreadChange; caller: Caller },
): Promise<ThreadRecord> {
  const { collections, authorizer } = options
  const { handler, unread } = change
  const allowed = await authorizer.require(caller, 'threads', 'write')
  const sorted = await sortedAs(options, { thread, change, caller })
  const after = { ...thread, ...sorted.$set, ...(handler && { handler }), ...(unread === 0 && { unread }) }
  for (const field of Object.keys(sorted.$unset)) delete after[field as keyof typeof sorted.$unset]
  if (allowed.kind === 'some' && !allowed.test(after))
    throw new Problem('forbidden', { detail: 'The role may not write what the thread becomes.' })
  const { _id, workspace } = thread
  if (handler === 'person') await takeOver(options, thread)
  if (handler === 'assistant') await giveToAssistant(collections, await placeOf(options, thread))
  if (unread === 0) await collections.threads.updateOne({ _id, workspace }, markedAsRead())
  if (Object.keys({ ...sorted.$set, ...sorted.$unset }).length > 0)
    await collections.threads.updateOne({ _id, workspace }, sorted)
  const changed = await collections.threads.findOne({ _id, workspace })
  if (changed === null) throw new Problem('not_found')
  return changed
}

interface Sorted {
  $set: Partial<Pick<ThreadRecord, 'assignee' | 'team' | 'labels' | 'closed'>>
  $unset: { assignee?: ''; team?: ''; labels?: ''; closed?: '' }
}

/** Returns the team's sorting of a thread as it is written: assignee, team, labels and status. */
async function sortedAs(
  options: ChangeOptions,
  { thread, change, caller }: { thread: ThreadRecord; change: ThreadChange; caller: Caller },
): Promise<Sorted> {
  const { assignee, team, labels, status, snoozedUntil } = change
  const sorted: Sorted = { $set: {}, $unset: {} }
  const assigned = () => ({ at: new Date(), by: caller.account._id })
  if (typeof assignee === 'number' && assignee !== thread.assignee?._id) {
    const name = await requireReader(options, thread, assignee)
    sorted.$set.assignee = { _id: assignee, name, ...assigned() }
  }
  if (assignee === null) sorted.$unset.assignee = ''
  if (typeof team === 'number' && team !== thread.team?._id) {
    const name = await requireTeam(options, caller, team)
    sorted.$set.team = { _id: team, name, ...assigned() }
  }
  if (team === null) sorted.$unset.team = ''
  if (labels !== undefined && labels.length > 0) sorted.$set.labels = labels
  if (labels?.length === 0) sorted.$unset.labels = ''
  if (status === 'open') sorted.$unset.closed = ''
  if (status === 'resolved' || status === 'snoozed') {
    const until = snoozedUntil === undefined ? {} : { until: new Date(snoozedUntil) }
    sorted.$set.closed = { status, upTo: await knownUpTo(options.collections, thread), ...until }
  }
  return sorted
}

/** The name of a user of the workspace who may read the thread. Throws `validation_failed` for anybody else. */
async function requireReader(
  { identity, authorizer }: Pick<ChangeOptions, 'identity' | 'authorizer'>,
  thread: ThreadRecord,
  _id: number,
): Promise<string> {
  const found = callerSchema.safeParse(await identity.get(`/internal/callers/${_id}`)).data
  if (found !== undefined && found.workspace._id === thread.workspace) {
    const decision = await authorizer.decide(found, 'threads', 'read')
    if (decision.kind === 'all' || (decision.kind === 'some' && decision.test(thread)))
      return found.account.name
  }
  const message = 'is no user who may read the thread'
  throw new Problem('validation_failed', { errors: [{ path: '/assignee', code: 'not_found', message }] })
}

const teamSchema = z.looseObject({ workspace: safeInteger, name: z.string() })

/** The name of a team of the workspace that the caller may read. Throws `validation_failed` for any other. */
async function requireTeam(
  { identity, authorizer }: Pick<ChangeOptions, 'identity' | 'authorizer'>,
  caller: Caller,
  _id: number,
): Promise<string> {
  const found = teamSchema.safeParse(await identity.get(`/internal/teams/${_id}`)).data
  const decision = await authorizer.decide(caller, 'teams', 'read')
  if (found !== undefined && found.workspace === caller.workspace._id && allows(decision, found))
    return found.name
  const message = 'is no team that the role may read'
  throw new Problem('validation_failed', { errors: [{ path: '/team', code: 'not_found', message }] })
}

/** The thread is written behind its messages, of which somebody may have read the last ones already. */
async function knownUpTo(
  { messages }: Pick<Collections, 'messages'>,
  { workspace, channel, lastInboundAt, ...thread }: ThreadRecord,
): Promise<Date> {
  const [last] = await messages
    .find({ workspace, thread: ofThread(thread), channel }, { maxTimeMS: QUERY_MS })
    .project<{ receivedAt: Date }>({ receivedAt: 1 })
    .sort({ receivedAt: -1, _id: -1 })
    .limit(1)
    .toArray()
  return new Date(Math.max(...[lastInboundAt, last?.receivedAt].map((at) => at?.getTime() ?? 0)))
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

/** Marks all messages counted so far as read, by the messages' own times. */
function markedAsRead(): mongo.BSON.Document[] {
  return [{ $set: { unread: 0, readAt: { $ifNull: ['$lastUnreadAt', '$lastAt'] } } }]
}
