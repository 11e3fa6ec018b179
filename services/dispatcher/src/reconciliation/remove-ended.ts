import { inTransaction } from '@parley/shared/transaction'
import type { mongo } from 'mongoose'
import type { MessageState } from '../message/message-record.ts'
import { hourOf } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import { addUp } from '../store/removed-hours.ts'

const BATCH = 500
const SNAPSHOT = { readConcern: { level: 'snapshot' } } as const

interface RemoveOptions {
  collections: Pick<Collections, 'messages' | 'audited' | 'removed'>
  startSession(): mongo.ClientSession
  retentionMs: number
  now(): number
  active(): boolean
}

/**
 * Removes the messages whose retention has ended, with their attempts, and their places in the audit. What they add up to
 * in each hour is written in the same transaction, 500 at a time, so that the count stays whole.
 */
export async function removeEnded(options: RemoveOptions): Promise<void> {
  while (options.active() && (await removeBatch(options)) === BATCH);
  while (options.active() && (await removeUnstored(options)) === BATCH);
}

async function removeBatch(options: RemoveOptions): Promise<number> {
  const { messages, audited } = options.collections
  const over = { expiresAt: { $lte: new Date(options.now()) } }
  const found = await messages
    .find(over)
    .project<{ _id: string; workspace: number; channel: string; receivedAt: Date; state: MessageState }>({
      workspace: 1,
      channel: 1,
      receivedAt: 1,
      state: 1,
    })
    .limit(BATCH)
    .toArray()
  if (found.length === 0) return 0
  const ids = { $in: found.map(({ _id }) => _id) }
  const remove = async (session: mongo.ClientSession) => {
    const { deletedCount } = await messages.deleteMany({ _id: ids, ...over }, { session })
    if (deletedCount !== found.length) throw new Error('a message was run again while it was removed')
    const places = await audited.find({ _id: ids }, { session }).toArray()
    await audited.deleteMany({ _id: ids }, { session })
    const states = found.map(({ receivedAt, ...one }) => ({ ...one, hour: hourOf(receivedAt) }))
    await addUp(options.collections.removed, [...states, ...places], session)
  }
  await inTransaction(options, remove, SNAPSHOT)
  return found.length
}

/** Removes ids without a message that could end: those of rejected, lost and erased messages. */
async function removeUnstored(options: RemoveOptions): Promise<number> {
  const { audited, removed } = options.collections
  const before = { hour: { $lt: new Date(options.now() - options.retentionMs) } }
  const found = await audited
    .find({
      $or: [
        { place: 'missing' as const, ...before },
        { place: 'rejected' as const, ...before },
        { place: 'erased' as const, ...before },
      ],
    })
    .limit(BATCH)
    .toArray()
  if (found.length === 0) return 0
  const remove = async (session: mongo.ClientSession) => {
    const { deletedCount } = await audited.deleteMany(
      { $or: found.map(({ _id, place }) => ({ _id, place })) },
      { session },
    )
    if (deletedCount !== found.length) throw new Error('a message turned up while it was removed')
    await addUp(removed, found, session)
  }
  await inTransaction(options, remove, SNAPSHOT)
  return found.length
}
