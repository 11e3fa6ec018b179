import { randomUUID } from 'node:crypto'
import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { createReplica } from '@parley/shared/config-replica/replica'
import { createReplicaStore } from '@parley/shared/config-replica/replica-store'
import { pathsOf } from '@parley/shared/configuration-resources'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { consumeBatches } from '@parley/shared/messaging/consumer'
import { createPublisher } from '@parley/shared/messaging/publisher'
import {
  declareDispatcherTopology,
  PARTITIONS,
  partitionQueue,
  STATUS_QUEUES,
} from '@parley/shared/messaging/topology'
import { connectMongo } from '@parley/shared/mongo'
import { connectRedis } from '@parley/shared/redis'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import { createTracing } from '@parley/shared/tracing'
import type { mongo } from 'mongoose'
import { Registry } from 'prom-client'
import { promptRoutes } from './api/assistant/prompt-routes.ts'
import { trialRoutes } from './api/assistant/trial-routes.ts'
import { audioRoutes } from './api/audio/audio-routes.ts'
import { replayRoutes } from './api/messages/replay-routes.ts'
import { messageRoutes } from './api/messages/routes.ts'
import type { Config } from './config.ts'
import { createOutbound, retentionOf } from './deliver/outbound.ts'
import { createIntakeStore } from './intake/intake-store.ts'
import { openPartition } from './intake/open-partition.ts'
import { showState, showWaiting } from './metrics/show-state.ts'
import { reconciliationDifference } from './reconciliation/audit-state.ts'
import { startAuditor } from './reconciliation/auditor.ts'
import { reconciliationRoutes } from './reconciliation/reconciliation-routes.ts'
import { declareChangeQueues, followDocumentChanges } from './replica/follow-changes.ts'
import { type Partition, type Partitions, startPartitions } from './schedule/partitions.ts'
import { watchStatuses } from './statuses/status-watch.ts'
import { workStatuses } from './statuses/work-statuses.ts'
import { collectionsOf, prepareDatabase } from './store/collections.ts'
import { createCommitter, statusWriter } from './store/commit.ts'
import { createLeaseStore } from './store/lease-store.ts'

/** Connects in the background, works this instance's partitions and the provider's statuses, serves the message log. */
export async function buildApp(config: Config & BaseConfig, log: Log): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('dispatcher', config)
  const instance = randomUUID()
  const tokenSigner = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'dispatcher', jwks: config.SERVICE_JWKS })
  const inner = (urls: URL[], audience: 'identity' | 'configuration' | 'webhook') =>
    createInternalClient({ targets: roundRobin(urls), audience, signer: tokenSigner })
  const database = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    log,
    prepare: (connection) => prepareDatabase(connection, PARTITIONS),
  })
  const collections = collectionsOf(database.connection)
  const { messages } = collections
  const redis = connectRedis(config.REDIS_URL, log)
  const broker = await connectBroker({
    url: config.AMQP_URL,
    declare: async (channel) => {
      await declareDispatcherTopology(channel)
      await declareChangeQueues(channel, instance)
    },
    log,
  })
  const publisher = createPublisher({ broker, log })
  const statuses = watchStatuses({
    instance,
    publisher,
    gateways: roundRobin(config.GATEWAY_URL),
    webhooks: roundRobin(config.WEBHOOK_URL),
    instances: collections.instances,
    log,
  })
  const secrets = createSecretBox(secretKeysOf(config))
  const store = createReplicaStore({ replicas: collections.replicas, box: secrets })
  const configuration = inner(config.CONFIGURATION_URL, 'configuration')
  const webhook = inner(config.WEBHOOK_URL, 'webhook')
  // This instance has a queue of changes of its own, so its memory is trusted until an event.
  const replica = createReplica({
    store,
    configuration,
    freshMs: Number.POSITIVE_INFINITY,
    missesFreshMs: 0,
    log,
  })
  const changes = followDocumentChanges({ instance, store, replica, log })
  const outbound = createOutbound({
    config,
    replica,
    secrets,
    redis,
    publisher,
    statuses,
    registry,
    tracing,
    log,
    collections,
    configuration,
    webhook,
  })
  const applyStatuses = workStatuses({
    collections,
    metrics: outbound.metrics,
    committer: createCommitter(messages, statusWriter(instance)),
  })
  const statusConsumers = STATUS_QUEUES.map((queue) => ({
    queue,
    consumer: consumeBatches({ queue, work: applyStatuses, deadLetters: publisher, log }),
  }))
  const retentionMs = retentionOf(config)
  const startSession = (options: mongo.ClientSessionOptions = {}) =>
    database.connection.getClient().startSession(options)
  let partitions: Partitions | undefined
  const workedPartitions = () => partitions?.working() ?? new Map<number, Partition>()
  showState(registry, {
    broker,
    partitionsLeased: () => workedPartitions().size,
    oldest: () =>
      new Map([
        ...statusConsumers.map(({ queue, consumer }) => [queue, consumer.oldestAt()] as const),
        ...[...workedPartitions()].map(
          ([index, partition]) => [partitionQueue(index), partition.oldestAt()] as const,
        ),
      ]),
    difference: () => reconciliationDifference(collections),
  })
  showWaiting(registry, () =>
    Promise.all([...workedPartitions().values()].map((partition) => partition.waiting())),
  )
  const working = database.ready.then(() => {
    const store = createIntakeStore(messages, log)
    const committer = createCommitter(messages, instance)
    const work = { instance, collections, store, committer, run: outbound.run, deadLetters: publisher, log }
    const started = startPartitions({
      leases: createLeaseStore({ collections, instance }),
      instance,
      open: (lease) => openPartition({ lease, ...work }),
      log,
    })
    partitions = started
    broker.follow(started)
    const auditor = startAuditor({ collections, startSession, instance, broker, publisher, retentionMs, log })
    for (const consumer of [auditor, ...changes]) broker.follow(consumer)
    for (const { consumer } of statusConsumers) broker.follow(consumer)
    return { close: () => Promise.all([started.close(), auditor.close()]) }
  })
  const authorizer = createAuthorizer(inner(config.IDENTITY_URL, 'identity'))
  const app = createApp({
    log,
    registry,
    tracing,
    readiness: {
      required: { mongodb: database.isUp, rabbitmq: broker.isUp },
      // Without it each instance sends at an eighth of a number's rate.
      optional: { redis: async () => (await redis.ping()) === 'PONG' },
    },
    routes: (app) => {
      app.use('/rest/messages', requireCaller(verifier))
      app.use('/rest/messages', replayRoutes({ messages, publisher, authorizer }))
      app.use('/rest/messages', reconciliationRoutes({ collections, startSession, authorizer }))
      app.use(
        '/rest/messages',
        audioRoutes({ messages, authorizer, channels: outbound.channels, webhook, http: outbound.media }),
      )
      app.use('/rest/messages', messageRoutes({ messages, authorizer }))
      const { agents, channels } = outbound
      const assistant = pathsOf('assistant').map((path) => `/rest/${path}`)
      app.use(assistant, requireCaller(verifier))
      app.use(assistant, promptRoutes({ authorizer, configuration, messages, channels, agents }))
      app.use(assistant, trialRoutes({ authorizer, configuration, agents }))
    },
  })
  return {
    app,
    registry,
    close: async () => {
      if (await database.isUp().catch(() => false)) await (await working).close()
      await statuses.close()
      await Promise.all(statusConsumers.map(({ consumer }) => consumer.close()))
      await Promise.all([publisher, ...changes].map((one) => one.close()))
      await broker.close()
      redis.disconnect()
      await Promise.all([outbound.close(), database.close(), tracing.close()])
    },
  }
}
