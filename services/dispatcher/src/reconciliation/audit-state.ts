import { defined } from '@parley/shared/defined'
import type { AuditState } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import type { Lease } from '../store/lease-store.ts'

/** An entry of the log, and how to know that it is the same one. */
export interface LogPosition {
  offset: number
  messageId: string
  acceptedAt: Date
}

/** The last entry that was read; undefined when none was. */
export async function readPosition(audit: Collections['audit']): Promise<LogPosition | undefined> {
  const state = await audit.findOne({ _id: 'log' })
  if (state?.offset === undefined || state.messageId === undefined) return undefined
  return {
    offset: state.offset,
    messageId: state.messageId,
    acceptedAt: state.acceptedAt ?? new Date(0),
  }
}

/** Writes down how far the audit is, unless a later owner of the lease already has. Rejects then. */
export async function writeAudit(
  audit: Collections['audit'],
  { term }: Pick<Lease, 'term'>,
  found: Partial<Omit<AuditState, '_id' | 'term'>>,
): Promise<void> {
  const { matchedCount } = await audit.updateOne(
    { _id: 'log', term: { $lte: term } },
    { $set: { term, ...found } },
  )
  if (matchedCount === 0) throw new Error('another instance audits the log')
}

/** The latest result of the audit, in whatever instance it runs. */
interface ReconciliationDifference {
  /** Accepted messages, of all workspaces, that are neither in the store nor rejected though their time is over. */
  difference: number
  /** How long ago that was counted, in seconds; an old count says that nobody audits. */
  ageSeconds: number
  /** Up to when what was accepted has been read; undefined before the first message. */
  auditedUpTo?: Date
}

/** Reads what the audit last found; undefined before the first audit. Rejects while MongoDB is unavailable. */
export async function reconciliationDifference(
  { audit }: Pick<Collections, 'audit'>,
  now = Date.now(),
): Promise<ReconciliationDifference | undefined> {
  const state = await audit.findOne({ _id: 'log' })
  if (state?.difference === undefined || state.checkedAt === undefined) return undefined
  return {
    difference: state.difference,
    ageSeconds: Math.max(0, now - state.checkedAt.getTime()) / 1_000,
    ...defined({ auditedUpTo: state.acceptedAt }),
  }
}

/**
 * For how many seconds what is accepted has not been read from the log, in whatever instance that runs; undefined
 * before the first audit. Rejects while MongoDB is unavailable.
 */
export async function auditLagSeconds(
  { audit }: Pick<Collections, 'audit'>,
  now = Date.now(),
): Promise<number | undefined> {
  const state = await audit.findOne({ _id: 'log' })
  const readUpTo = state?.readUpTo?.getTime()
  return readUpTo === undefined ? undefined : Math.max(0, now - readUpTo) / 1_000
}
