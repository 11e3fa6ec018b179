import { CONSENT_TYPE, type PublishedConsent } from '@parley/shared/consent'
import { createBackOff, every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { PEOPLE_EXCHANGE, PEOPLE_QUEUE } from '@parley/shared/messaging/topology'
import type { Collections } from '../store/collections.ts'
import type { UnpublishedConsent, UnpublishedMove } from '../store/suppression-records.ts'
import { publishPeople } from './publish-people.ts'

const BATCH = 100
/** Intervals of checks for the work that a dead instance left, longer after checks that found nothing. */
const LOOK = { leastMs: 1_000, mostMs: 8_000 }
const QUERY_MS = 5_000

/** Tells others of changes of consent, and of who is elsewhere now, that are stored. */
interface ConsentPublication {
  /** Something was stored by this instance: it is published at once. */
  stored(): void
  stop(): Promise<void>
}

/**
 * Publishes what is stored as unpublished, the oldest first, and then removes it: an instance that dies in between leaves it
 * to any other one, so that it may come twice.
 */
export function startConsentPublication(options: {
  collections: Pick<Collections, 'unpublishedConsent'>
  publisher: Pick<Publisher, 'publish'>
  ready: Promise<unknown>
  log: Log
}): ConsentPublication {
  const { collections, publisher, ready, log } = options
  const { unpublishedConsent } = collections
  const publishConsent = ({ _id: id, at, ...event }: UnpublishedConsent) => {
    const published: PublishedConsent = { id, ...event, at: at.toISOString() }
    return publisher.publish({
      ...{ exchange: PEOPLE_EXCHANGE, routingKey: PEOPLE_QUEUE, mandatory: true },
      ...{ messageId: id, type: CONSENT_TYPE, headers: { workspace: event.workspace } },
      body: Buffer.from(JSON.stringify(published)),
    })
  }
  const publishMove = ({ _id, at, ...person }: UnpublishedMove) =>
    publishPeople(publisher, [{ ...person, at: at.toISOString() }])
  /** Resolves with whether there was something. */
  const publishAll = async (): Promise<boolean> => {
    await ready
    for (let hasFound = false; ; hasFound = true) {
      const found = await unpublishedConsent
        .find({}, { maxTimeMS: QUERY_MS })
        .sort({ at: 1 })
        .limit(BATCH)
        .toArray()
      await Promise.all(found.map((one) => ('left' in one ? publishMove(one) : publishConsent(one))))
      if (found.length > 0) await unpublishedConsent.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } })
      if (found.length < BATCH) return hasFound || found.length > 0
    }
  }
  let publishing = Promise.resolve(false)
  const failed = ({ message }: Error) => log.warn({ reason: message }, 'changes of consent not published yet')
  const run = () => {
    publishing = publishing.catch(() => false).then(publishAll)
    return publishing
  }
  const backOff = createBackOff(LOOK)
  const loop = every({ pauseMs: backOff.pauseMs, run: () => backOff.note(run), failed })
  return {
    stored: () => void run().catch(failed),
    async stop() {
      await loop.stop()
      await publishing.catch(() => false)
    },
  }
}
