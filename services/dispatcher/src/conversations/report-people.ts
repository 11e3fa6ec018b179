import { hash } from 'node:crypto'
import type { SeenPerson } from '@parley/shared/consent'
import { defined } from '@parley/shared/defined'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { LRUCache } from 'lru-cache'
import { publishPeople } from '../consent/publish-people.ts'
import type { Suppressions } from '../consent/suppressions.ts'
import { threadId } from '../message/thread-record.ts'
import type { ThreadWrite } from './write-threads.ts'

const MAX_REPORTED = 50_000
const MAX_ADDRESSES = 64
const HOUR_MS = 60 * 60 * 1_000
const GROUP = 'group:'

/** Reports the people of threads that were written. Rejects where it could not: then it is reported again. */
export type ReportPeople = (writes: readonly ThreadWrite[]) => Promise<void>

/**
 * What is known of a person is reported when their thread is written first, when their name or addresses are others, and
 * when they have written, once an hour at most; after a restart once more. What one of their addresses has opted out of
 * counts for the others from then on.
 */
export function createReportPeople(options: {
  publisher: Pick<Publisher, 'publish'>
  suppressions: Pick<Suppressions, 'spread' | 'withoutErased'>
}): ReportPeople {
  const { publisher, suppressions } = options
  const reported = new LRUCache<string, Known>({ max: MAX_REPORTED })
  return async (writes) => {
    const people = new Map<string, { person: SeenPerson; known: Known }>()
    for (const write of writes) {
      if (!isOfPerson(write)) continue
      const thread = threadId(write)
      const known = knownOf(write)
      const before = reported.get(thread)
      const isOld = before?.who === known.who && before.hour >= known.hour
      if (!isOld) people.set(thread, { person: personOf(write), known })
    }
    if (people.size === 0) return
    const found = await suppressions.withoutErased([...people.values()].map(({ person }) => person))
    if (found.length === 0) return
    await suppressions.spread(found)
    await publishPeople(publisher, found)
    for (const [thread, { known }] of people) reported.set(thread, known)
  }
}

/** A digest of who somebody is, and the hour in which they last wrote; 0 where that is not known. */
interface Known {
  who: string
  hour: number
}

/** False for a group, and for a thread without addresses. */
function isOfPerson({ activity: { addresses = [] } }: ThreadWrite): boolean {
  return addresses.length > 0 && !addresses.some((one) => one.startsWith(GROUP))
}

function personOf({ workspace, activity, lastInboundAt }: ThreadWrite): SeenPerson {
  const { addresses = [], user, lastAt } = activity
  return {
    ...{ workspace, addresses: addresses.slice(0, MAX_ADDRESSES), at: lastAt.toISOString() },
    ...defined({ name: user.name, lastContactAt: lastInboundAt?.toISOString() }),
  }
}

function knownOf({ activity: { addresses, user }, lastInboundAt }: ThreadWrite): Known {
  const who = hash('sha256', JSON.stringify([addresses, user.name]), 'base64url')
  return { who, hour: lastInboundAt === undefined ? 0 : Math.floor(lastInboundAt.getTime() / HOUR_MS) }
}
