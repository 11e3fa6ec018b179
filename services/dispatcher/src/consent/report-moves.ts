import { insertNew } from '@parley/shared/insert-new'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import type { Suppressions } from './suppressions.ts'

/** A message that says that its person has left addresses. */
interface Move extends Pick<MessageRecord, '_id' | 'workspace' | 'addresses' | 'receivedAt'> {
  left: readonly string[]
}

/** Reports who is elsewhere now. Rejects while the database is unavailable. */
export type ReportMoves = (moves: readonly Move[]) => Promise<void>

/**
 * What was said of where somebody was counts for where they are now. Others are told behind it, however long that takes. What
 * comes again is the same.
 */
export function createReportMoves(options: {
  collections: Pick<Collections, 'unpublishedConsent'>
  suppressions: Pick<Suppressions, 'spread' | 'withoutErased'>
  /** Something is to be published. */
  stored(): void
}): ReportMoves {
  const { collections, suppressions, stored } = options
  return async (moves) => {
    const people = moves.flatMap(({ _id, workspace, addresses: all = [], left, receivedAt }) => {
      const addresses = all.filter((one) => !left.includes(one))
      const at = receivedAt.toISOString()
      return addresses.length === 0 ? [] : [{ _id, workspace, addresses, left: [...left], at }]
    })
    const found = people.length === 0 ? [] : await suppressions.withoutErased(people)
    if (found.length === 0) return
    await suppressions.spread(found)
    await insertNew(
      collections.unpublishedConsent,
      found.map(({ _id, at, ...move }) => ({ ...move, _id: `move/${_id}`, at: new Date(at) })),
    )
    stored()
  }
}
