import type { LeasedDocument } from '@parley/shared/lease'
import { prepareCollections } from '@parley/shared/prepare-collections'
import type { StoredRelay } from '@parley/shared/relay/relay-state'
import type { Connection, mongo } from 'mongoose'
import type { Delivery } from '../message/delivery.ts'

/** The data about a subscription besides its replica. */
interface Subscriber {
  /** As {@link Delivery.subscription}. */
  _id: string
  /** Events since it was turned on at this time have their deliveries. */
  caughtUp?: string
  /** Nothing has arrived since. */
  failingSince?: Date
  /** So many events wait that it gets no more. */
  full?: true
}

export interface EventCollections {
  deliveries: mongo.Collection<Delivery>
  subscribers: mongo.Collection<Subscriber>
  /** The lease and the position of each relay. */
  relays: mongo.Collection<StoredRelay>
  /** The lease of each shard of the deliveries. */
  shards: mongo.Collection<LeasedDocument>
  counters: mongo.Collection<{ _id: string; value: number }>
}

/** The dispatcher's collections for outgoing events. */
export function eventCollectionsOf(connection: Connection): EventCollections {
  const native = <T extends mongo.BSON.Document>(name: string) =>
    connection.collection<T>(name) as unknown as mongo.Collection<T>
  return {
    deliveries: native('deliveries'),
    subscribers: native('subscribers'),
    relays: native('relays'),
    shards: native('deliverers'),
    counters: native('counters'),
  }
}

/** Makes collections and indexes; harmless when they are there. */
export const prepareEvents = (connection: Connection): Promise<void> =>
  prepareCollections(connection, {
    deliveries: [
      { key: { shard: 1, subscription: 1, order: 1 }, partialFilterExpression: { fresh: true } },
      { key: { shard: 1, subscription: 1, due: 1 }, partialFilterExpression: { due: { $exists: true } } },
      { key: { subscription: 1, order: 1 } },
      { key: { workspace: 1, line: 1 } },
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
    ],
    ...{ subscribers: [], relays: [], deliverers: [], counters: [] },
  })
