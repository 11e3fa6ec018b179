import type { Authorizer } from '@parley/shared/authorizer'
import type { Replica } from '@parley/shared/config-replica/replica'
import {
  configurationDocument,
  type DocumentReplica,
  type ReplicaStore,
} from '@parley/shared/config-replica/replica-store'
import { every } from '@parley/shared/every'
import { FairSlots } from '@parley/shared/fair-slots'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import type { Consumer } from '@parley/shared/messaging/consumer'
import type { Publisher } from '@parley/shared/messaging/publisher'
import type { Relay } from '@parley/shared/relay/relay'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { HttpClient } from '../channels/http/http-client.ts'
import type { RecordConsent } from '../consent/record-consent.ts'
import type { Suppressions } from '../consent/suppressions.ts'
import type { MessageRecord } from '../message/message-record.ts'
import type { NoticeRecord } from '../message/notice-record.ts'
import type { ThreadRecord } from '../message/thread-record.ts'
import type { Instance } from '../store/collections.ts'
import type { EventCollections } from '../store/event-collections.ts'
import { consumeCampaignEvents } from './consume-campaign-events.ts'
import { consumeChanges } from './consume-changes.ts'
import { consumeNotices } from './consume-notices.ts'
import { deliverShard } from './deliver-shard.ts'
import { createInsertDeliveries, type InsertDeliveries } from './insert-deliveries.ts'
import { createMarkReceiver } from './mark-receiver.ts'
import { type EventViews, relayMessages } from './message-relay.ts'
import { createPostEvent } from './post-event.ts'
import { createReadable } from './readable.ts'
import { startShards } from './shards.ts'
import { createMarkSubscription, followSubscriptions, type Subscriptions } from './subscriptions.ts'

/** Deliveries in flight in one instance, of all subscriptions. One workspace alone has 128. */
const IN_FLIGHT = { of: 'deliveries', total: 384, spare: 2 }
const MAX_COUNTED = 10_000
const COUNT_MS = 5_000
const ALIVE_MS = 10_000
const READ_AGAIN_MS = 5 * 60_000

/** Outgoing events: what makes deliveries, and what delivers them. */
interface OutgoingEvents {
  subscriptions: Subscriptions
  insert: InsertDeliveries
  /** Consumes the changes to the configuration; to be attached to the broker. */
  changes: Consumer
  /** Consumes what happened to channels at their providers; to be attached to the broker. */
  notices: Consumer
  /** Consumes what happened to campaigns, templates and people's consent; to be attached to the broker. */
  campaigns: Consumer
  relay: Relay
  /** How many deliveries of this instance's shards are not done; at most 10,000 of those not tried and of those to be retried. */
  waiting(): Promise<number>
  close(): Promise<void>
}

export function startEvents(options: {
  instance: string
  collections: EventCollections & {
    messages: mongo.Collection<MessageRecord>
    threads: mongo.Collection<ThreadRecord>
    replicas: mongo.Collection<DocumentReplica>
    instances: mongo.Collection<Instance>
    notices: mongo.Collection<NoticeRecord>
  }
  /** Resolves when the database can be used. */
  ready: Promise<unknown>
  db(): mongo.Db
  store: Pick<ReplicaStore, 'save'>
  replica: Pick<Replica, 'find'>
  secrets: Pick<SecretBox, 'open'>
  http: HttpClient
  configuration: Pick<InternalClient, 'get' | 'post'>
  identity: Pick<InternalClient, 'get'>
  authorizer: Authorizer
  views: EventViews
  recordConsent: RecordConsent
  suppressions: Pick<Suppressions, 'withoutErased'>
  retentionMs: number
  /** Declares the queue of changes again when it was deleted. */
  declare(): Promise<void>
  deadLetters: Pick<Publisher, 'publish'>
  log: Log
  now?: () => number
}): OutgoingEvents {
  const { instance, collections, ready, db, store, replica, secrets, http, log, retentionMs } = options
  const { configuration, identity, authorizer, views, declare, now = Date.now } = options
  const { messages, threads, replicas, instances, subscribers, shards } = collections
  const subscriptions = followSubscriptions({ replicas, subscribers, database: ready, log })
  const insert = createInsertDeliveries({ collections, retentionMs, now })
  const extIdOf = async (workspace: number, id: number) => {
    const [channel] = await replica.find({ resource: 'channels', workspace, id })
    return channel === undefined ? undefined : String(channel.extId)
  }
  const relay = relayMessages({
    ...{ messages, threads, collections, db, ready, subscriptions, insert, views, extIdOf, log },
  })
  const markSubscription = createMarkSubscription({ configuration, log })
  const deliver = {
    ...{ collections, subscriptions, retentionMs, now, log, slots: new FairSlots(IN_FLIGHT) },
    readable: createReadable({ identity, authorizer, messages, threads, replica }),
    post: createPostEvent({ http, secrets, now }),
    markSubscription,
    mark: createMarkReceiver({ markSubscription, subscribers }),
  }
  const alive = { $expr: { $gt: ['$seenAt', { $subtract: ['$$NOW', ALIVE_MS] }] } }
  const worked = startShards({
    ...{ shards, instance, log },
    ready: Promise.all([ready, subscriptions.ready]),
    instances: () => instances.countDocuments(alive),
    open: (shard, isLeased) => deliverShard(shard, isLeased, deliver),
  })
  const reading = readAgain({ ready, configuration, store, log })
  return {
    subscriptions,
    insert,
    relay,
    waiting: () => countWaiting(collections.deliveries, worked.working()),
    changes: consumeChanges({ subscriptions, store, insert, declare, log }),
    notices: consumeNotices({
      ...{ notices: collections.notices, subscriptions, insert, extIdOf, retentionMs, declare, log, now },
      deadLetters: options.deadLetters,
      recordConsent: options.recordConsent,
    }),
    campaigns: consumeCampaignEvents({
      ...{ subscriptions, insert, declare, log, deadLetters: options.deadLetters },
      suppressions: options.suppressions,
    }),
    close: async () => {
      await Promise.all([reading.stop(), relay.close(), worked.close()])
      await subscriptions.close()
      http.close()
    },
  }
}

async function countWaiting(
  deliveries: EventCollections['deliveries'],
  working: readonly number[],
): Promise<number> {
  const shard = { $in: [...working] }
  const limit = MAX_COUNTED
  const [fresh, due] = await Promise.all([
    deliveries.countDocuments({ shard, fresh: true }, { limit, maxTimeMS: COUNT_MS }),
    deliveries.countDocuments({ shard, due: { $exists: true } }, { limit, maxTimeMS: COUNT_MS }),
  ])
  return fresh + due
}

const page = z.object({ data: z.array(configurationDocument) })

/** Reads all subscriptions again now and then: a queue of changes is bounded, so one may have been missed. */
function readAgain(options: {
  ready: Promise<unknown>
  configuration: Pick<InternalClient, 'get'>
  store: Pick<ReplicaStore, 'save'>
  log: Log
}): { stop(): Promise<void> } {
  const { ready, configuration, store, log } = options
  return every({
    pauseMs: READ_AGAIN_MS,
    run: async (signal) => {
      await Promise.race([ready, aborted(signal)])
      let after = { workspace: -1, id: -1 }
      while (!signal.aborted) {
        const { workspace, id } = after
        const found = await configuration.get(`/internal/subscriptions?workspace=${workspace}&id=${id}`)
        const { data } = page.parse(found ?? { data: [] })
        for (const { workspace, version, ...document } of data) {
          const at = { workspace: Number(workspace), id: Number(document._id) }
          await store.save({ resource: 'subscriptions', ...at, version, document })
          after = at
        }
        if (data.length === 0) return
      }
    },
    failed: ({ message: reason }) => log.debug({ reason }, 'subscriptions not read from configuration'),
  })
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}
