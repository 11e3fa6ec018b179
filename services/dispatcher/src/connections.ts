import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { createTracing } from '@parley/shared/create-tracing'
import { setLinger } from '@parley/shared/group'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { connectMongo } from '@parley/shared/mongo'
import { connectRedis } from '@parley/shared/redis'
import { createServiceCalls } from '@parley/shared/service-calls'
import type { mongo } from 'mongoose'
import { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { declareQueues } from './layout/declare-queues.ts'
import { collectionsOf, prepareDatabase } from './store/collections.ts'
import { eventCollectionsOf, prepareEvents } from './store/event-collections.ts'
import { readLayout } from './store/layout-record.ts'

/** Connects in the background to the stores, the broker and the other services. */
export async function connect(options: { config: Config & BaseConfig; instance: string; log: Log }) {
  const { config, instance, log } = options
  setLinger(config.LINGER_MS)
  const tracing = await createTracing('dispatcher', config)
  const database = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    memory: config.MEMORY,
    log,
    prepare: async (connection) => {
      await prepareDatabase(connection, config.PARTITIONS)
      await prepareEvents(connection)
    },
  })
  const { connection, ready } = database
  const collections = { ...collectionsOf(connection), ...eventCollectionsOf(connection) }
  const layout = () => readLayout(collections.layouts)
  const redis = connectRedis(config.REDIS_URL, log)
  const closing = Promise.withResolvers<void>()
  const broker = await connectBroker({
    url: config.AMQP_URL,
    declare: declareQueues({ instance, ready: Promise.race([ready, closing.promise]), layout }),
    log,
  })
  const auditBroker = await connectBroker({ url: config.AMQP_URL, declare: async () => {}, log })
  const publisher = createPublisher({ broker, log })
  const calls = await createServiceCalls({ caFile: config.TLS_CA_FILE, log })
  const signer = createInternalSigner(config.SERVICE_KEY)
  const clientOf = (urls: URL[], audience: 'identity' | 'configuration' | 'webhook') =>
    createInternalClient({ targets: roundRobin(urls), audience, signer, calls })
  const identity = clientOf(config.IDENTITY_URL, 'identity')
  return {
    registry: new Registry(),
    ...{ tracing, database, ready, collections, layout, redis, broker, auditBroker, calls },
    ...{ publisher, deadLetters: publisher, declare: broker.declare },
    ...{ identity, authorizer: createAuthorizer(identity) },
    configuration: clientOf(config.CONFIGURATION_URL, 'configuration'),
    webhook: clientOf(config.WEBHOOK_URL, 'webhook'),
    db: () => connection.db as mongo.Db,
    startSession: (given: mongo.ClientSessionOptions = {}) => connection.getClient().startSession(given),
    /** Nothing waits for the database any more. */
    endWaiting: () => closing.resolve(),
    /** Closes them once nothing works by them. */
    close: async () => {
      await Promise.all([broker.close(), auditBroker.close()])
      redis.disconnect()
      await Promise.all([database.close(), tracing.close()])
      await calls.close()
    },
  }
}
