import { CONSENT_TYPE, type PublishedConsent } from '@parley/shared/consent'
import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { PEOPLE_EXCHANGE, PEOPLE_QUEUE } from '@parley/shared/messaging/topology'
import type { Collections } from '../store/collections.ts'

const BATCH = 100
const PAUSE_MS = 1_000
const QUERY_MS = 5_000

/** Tells others of changes of consent that are stored. */
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
  const publishAll = async () => {
    await ready
    for (;;) {
      const found = await unpublishedConsent
        .find({}, { maxTimeMS: QUERY_MS })
        .sort({ at: 1 })
        .limit(BATCH)
        .toArray()
      await Promise.all(
        found.map(({ _id: id, at, ...event }) => {
          const published: PublishedConsent = { id, ...event, at: at.toISOString() }
          return publisher.publish({
            ...{ exchange: PEOPLE_EXCHANGE, routingKey: PEOPLE_QUEUE, mandatory: true },
            ...{ messageId: id, type: CONSENT_TYPE, headers: { workspace: event.workspace } },
            body: Buffer.from(JSON.stringify(published)),
          })
        }),
      )
      if (found.length > 0) await unpublishedConsent.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } })
      if (found.length < BATCH) return
    }
  }
  let publishing = Promise.resolve()
  const failed = ({ message }: Error) => log.warn({ reason: message }, 'changes of consent not published yet')
  const run = () => {
    publishing = publishing.catch(() => undefined).then(publishAll)
    return publishing
  }
  const loop = every({ pauseMs: () => PAUSE_MS, run, failed })
  return {
    stored: () => void run().catch(failed),
    async stop() {
      await loop.stop()
      await publishing.catch(() => undefined)
    },
  }
}
