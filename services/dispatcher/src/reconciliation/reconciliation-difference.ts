import { defined } from '@parley/shared/defined'
import type { Collections } from '../store/collections.ts'

/** What the audit last found, in whatever instance it runs. */
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
