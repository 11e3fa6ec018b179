import type { BaseConfig } from '@parley/shared/config'
import { followChanges } from '@parley/shared/config-replica/follow-changes'
import { createReplica } from '@parley/shared/config-replica/replica'
import { createReplicaStore } from '@parley/shared/config-replica/replica-store'
import { createTracing } from '@parley/shared/create-tracing'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { sizesOf } from '@parley/shared/memory'
import { connectBroker } from '@parley/shared/messaging/connection'
import { requireSlots } from '@parley/shared/messaging/layout'
import { createPublishObserver } from '@parley/shared/messaging/publish-observer'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { declareChanges, declareTopology, MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connectMongo } from '@parley/shared/mongo'
import { connectRedis } from '@parley/shared/redis'
import type { SecretBox } from '@parley/shared/sealed-value'
import { createServiceCalls } from '@parley/shared/service-calls'
import { withTimeout } from '@parley/shared/with-timeout'
import { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { collectionsOf, prepareDatabase } from './database.ts'

/** Changes to channels, for the replicas in the database: whichever instance takes them. */
const CHANGES_QUEUE = 'webhook.channels'
const MAX_CHANGES = 100_000
/** The instances share that queue, so the memory of each is trusted for a second. */
const FRESH_MS = 1_000
const LOOKUP_MS = 2_000

/** Everything that the webhook service is connected to, in the background. `close` ends it. */
export async function connect({
  config,
  box,
  log,
}: {
  config: Config & BaseConfig
  /** Opens the settings of channels. */
  box: SecretBox
  log: Log
}) {
  const registry = new Registry()
  const tracing = await createTracing('webhook', config)
  const signer = createInternalSigner(config.SERVICE_KEY)
  const calls = await createServiceCalls({ caFile: config.TLS_CA_FILE, log })
  const inner = (urls: URL[], audience: 'identity' | 'configuration') =>
    createInternalClient({ targets: roundRobin(urls), audience, signer, calls })
  const identity = inner(config.IDENTITY_URL, 'identity')
  const database = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    memory: config.MEMORY,
    log,
    prepare: prepareDatabase,
  })
  const collections = collectionsOf(database.connection)
  const store = createReplicaStore({ replicas: collections.channels, box, channelsOnly: true })
  const configuration = inner(config.CONFIGURATION_URL, 'configuration')
  const broker = await connectBroker({
    url: config.AMQP_URL,
    declare: async (channel) => {
      await declareTopology(channel)
      await requireSlots(channel)
    },
    log,
  })
  const publisher = createPublisher({
    broker,
    observe: (inFlight) =>
      createPublishObserver({ registry, tracing, exchange: MESSAGES_EXCHANGE, inFlight }),
    sameHeaders: true,
    maxUnconfirmedBytes: sizesOf(config.MEMORY).unconfirmedBytes,
    log,
  })
  const replica = createReplica({
    store,
    configuration: { get: (path) => withTimeout(LOOKUP_MS, configuration.get(path)) },
    freshMs: FRESH_MS,
    missesFreshMs: FRESH_MS,
    log,
  })
  // A connection of its own: one that publishes may be blocked by the broker.
  const changesBroker = await connectBroker({
    url: config.AMQP_URL,
    declare: (channel) =>
      declareChanges(channel, { queue: CHANGES_QUEUE, resources: ['channels'], maxLength: MAX_CHANGES }),
    log,
  })
  const changes = followChanges({
    ...{ queue: CHANGES_QUEUE, store, replica, log },
    resources: ['channels'],
    declare: changesBroker.declare,
  })
  changesBroker.follow(changes)
  const redis = connectRedis(config.REDIS_URL, log)
  const close = async () => {
    await Promise.all([publisher.close(), changes.close()])
    await Promise.all([broker.close(), changesBroker.close()])
    redis.disconnect()
    await Promise.all([database.close(), calls.close(), tracing.close()])
  }
  return {
    registry,
    tracing,
    identity,
    configuration,
    database,
    collections,
    publisher,
    replica,
    redis,
    close,
  }
}
