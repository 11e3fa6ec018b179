import type { Log } from '@parley/shared/log'
import type { mongo } from 'mongoose'
import type { AuditedMessage } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import { type EmptySlots, locate, type Places } from './locate.ts'
import type { LostMessage } from './publish-again.ts'

/** How long after its queue ran empty a message may take to be stored, in milliseconds. */
export const GRACE_MS = 60_000
const MAX_TRACED = 2_000
const MAX_PUBLISHED = 100
const MAX_TIMES = 5
// Whoever published it has a clock of its own.
const CLOCKS_MS = 60 * 60 * 1_000

type MissingMessage = AuditedMessage & LostMessage

/** Returns the filter for lost messages: in no place, and past their time or published again already. */
export function lostBefore(at: number, graceMs = GRACE_MS): mongo.Filter<AuditedMessage> {
  const overdue = { 'trace.emptyAt': { $lte: new Date(at - graceMs) } }
  return { place: 'missing', $or: [overdue, { 'trace.published': { $gt: 0 } }] }
}

/**
 * Makes one round over the missing messages: those that turned up are counted where they are; one that did not
 * within 60 s of its queue running empty is published again, at most 5 times and only while it is young enough that
 * the store can't have had it and removed it. Resolves with how many are lost.
 */
export function createTrace(
  options: Places & {
    collections: Pick<Collections, 'messages' | 'rejected' | 'audited'>
    emptySlots: EmptySlots
    publishAgain(lost: LostMessage[]): Promise<{ published: string[]; gone: string[] }>
    retentionMs: number
    graceMs?: number
    now(): number
    log: Log
  },
): () => Promise<number> {
  const { collections, emptySlots, retentionMs, graceMs = GRACE_MS, now, log } = options
  const { audited } = collections
  const isLost = ({ trace }: MissingMessage) =>
    trace.emptyAt !== undefined &&
    trace.emptyAt.getTime() <= now() - graceMs &&
    trace.published < MAX_TIMES &&
    trace.acceptedAt.getTime() > now() - retentionMs + CLOCKS_MS
  const giveBack = async (missing: MissingMessage[]) => {
    const lost = missing.filter(isLost).slice(0, MAX_PUBLISHED)
    if (lost.length === 0) return
    for (const { _id, workspace, channel } of lost)
      log.error({ alarm: 'message_lost', messageId: _id, workspace, channel }, 'message is not in the store')
    const { published, gone } = await options.publishAgain(lost)
    await update(audited, published, { $inc: { 'trace.published': 1 }, $unset: { 'trace.emptyAt': '' } })
    await update(audited, gone, { $set: { 'trace.published': MAX_TIMES } })
    log.warn({ published: published.length, gone: gone.length }, 'lost messages published again')
  }
  return async () => {
    const missing = (await audited
      .find({ place: 'missing' })
      .sort({ place: 1, hour: 1 })
      .limit(MAX_TRACED)
      .toArray()) as MissingMessage[]
    if (missing.length === 0) return 0
    const left = await settleFound(options, missing)
    await noteEmpty(audited, left, { emptySlots, now })
    await giveBack(left)
    return audited.countDocuments(lostBefore(now(), graceMs))
  }
}

async function settleFound(
  options: Places & { collections: Pick<Collections, 'audited'> },
  missing: MissingMessage[],
): Promise<MissingMessage[]> {
  const sought = missing.map(({ _id, trace, workspace, channel }) => ({
    messageId: _id,
    workspace,
    channel,
    acceptedAt: trace.acceptedAt,
  }))
  const located = await locate(options, sought)
  const updates = [...located.values()].map(({ _id, ...found }) => ({
    updateOne: {
      filter: { _id, place: 'missing' as const },
      update: { $set: found, $unset: { trace: '' as const } },
    },
  }))
  if (updates.length > 0) await options.collections.audited.bulkWrite(updates, { ordered: false })
  return missing.filter(({ _id }) => !located.has(_id))
}

/** The time runs from when the queue is first seen empty after the message went into it. */
async function noteEmpty(
  audited: Collections['audited'],
  missing: MissingMessage[],
  { emptySlots, now }: { emptySlots: EmptySlots; now(): number },
): Promise<void> {
  const waiting = missing.filter(({ trace }) => trace.emptyAt === undefined)
  if (waiting.length === 0) return
  const emptyAt = new Date(now())
  const empty = await emptySlots(waiting.map(slotOfMissing))
  const ids = waiting.filter((one) => empty.has(slotOfMissing(one))).map(({ _id }) => _id)
  await update(audited, ids, { $set: { 'trace.emptyAt': emptyAt } })
}

const slotOfMissing = ({ trace }: MissingMessage): number => trace.slot ?? trace.partition ?? 0

async function update(
  audited: Collections['audited'],
  ids: string[],
  change: mongo.UpdateFilter<AuditedMessage>,
): Promise<void> {
  if (ids.length > 0) await audited.updateMany({ _id: { $in: ids }, place: 'missing' }, change)
}
