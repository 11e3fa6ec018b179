import type { Publisher } from '@parley/shared/messaging/publisher'
import type { MessageRecord } from '../message/message-record.ts'
import { publishPeople } from './publish-people.ts'
import type { Suppressions } from './suppressions.ts'

const AT_ONCE = 100

/** A message that says that its person has left addresses. */
interface Move extends Pick<MessageRecord, 'workspace' | 'addresses' | 'receivedAt'> {
  left: readonly string[]
}

/** Reports who is elsewhere now. Rejects while the database or the broker is unavailable. */
export type ReportMoves = (moves: readonly Move[]) => Promise<void>

/** What was said of where somebody was counts for where they are now. What comes again is the same. */
export function createReportMoves(options: {
  publisher: Pick<Publisher, 'publish'>
  suppressions: Pick<Suppressions, 'spread' | 'withoutErased'>
}): ReportMoves {
  const { publisher, suppressions } = options
  return async (moves) => {
    const people = moves.flatMap(({ workspace, addresses: all = [], left, receivedAt }) => {
      const addresses = all.filter((one) => !left.includes(one))
      return addresses.length === 0
        ? []
        : [{ workspace, addresses, left: [...left], at: receivedAt.toISOString() }]
    })
    for (let at = 0; at < people.length; at += AT_ONCE) {
      const found = await suppressions.withoutErased(people.slice(at, at + AT_ONCE))
      if (found.length === 0) continue
      await suppressions.spread(found)
      await publishPeople(publisher, found)
    }
  }
}
