import { randomUUID } from 'node:crypto'
import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { createReplica } from '@parley/shared/config-replica/replica'
import { createReplicaStore } from '@parley/shared/config-replica/replica-store'
import { createTracing } from '@parley/shared/create-tracing'
import { createIdempotency } from '@parley/shared/idempotency'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { partitionQueue } from '@parley/shared/messaging/layout'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { connectMongo } from '@parley/shared/mongo'
import { serveRoutes } from '@parley/shared/openapi/route'
import { connectRedis } from '@parley/shared/redis'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import { createServiceCalls } from '@parley/shared/service-calls'
import type { mongo } from 'mongoose'
import { Registry } from 'prom-client'
import { createMediaSlots } from './api/media/media-routes.ts'
import { detailOf, summaryOf } from './api/messages/view.ts'
import { createEventStreams } from './api/streams/event-streams.ts'
import { eraseAudio, eraseDeliveries, eraseNotes, erasePerson, eraseTasks } from './api/threads/erasers.ts'
import { threadSummary } from './api/threads/view.ts'
import { createHttpClient } from './channels/http/http-client.ts'
import type { Config } from './config.ts'
import { createOutbound, retentionOf } from './deliver/outbound.ts'
import { startEvents } from './events/events.ts'
import { createIntakeStore } from './intake/intake-store.ts'
import { createNonSpeech } from './intake/non-speech.ts'
import { openPartition } from './intake/open-partition.ts'
import { startLayoutChanges } from './layout/change-layout.ts'
import { declareQueues } from './layout/declare-queues.ts'
import { showEvents, showState, showWaiting } from './metrics/show-state.ts'
import { auditLagSeconds, reconciliationDifference } from './reconciliation/audit-state.ts'
import { startAuditor } from './reconciliation/auditor.ts'
import { countLostMessages } from './reconciliation/count.ts'
import { followDocumentChanges } from './replica/follow-changes.ts'
import { routes } from './routes.ts'
import { type Partition, type Partitions, startPartitions } from './schedule/partitions.ts'
import { startEarlyStatuses } from './statuses/early-statuses.ts'
import { watchStatuses } from './statuses/status-watch.ts'
import { statusConsumers } from './statuses/work-statuses.ts'
import { startAddingUp } from './store/add-up-usage.ts'
import { collectionsOf, prepareDatabase } from './store/collections.ts'
import { createCommitter, statusWriter } from './store/commit.ts'
import { eventCollectionsOf, prepareEvents } from './store/event-collections.ts'
import { readLayout } from './store/layout-record.ts'
import { createLeaseStore } from './store/lease-store.ts'
import { RecentlyStored } from './store/recently-stored.ts'
import { createTraffic } from './store/traffic.ts'
import { createIsFirstOfName } from './thread-log/first-of-name.ts'
import { createThreadLog } from './thread-log/thread-log.ts'
import { TIMES, type Times } from './times.ts'

/** Connects in the background, works this instance's partitions and the provider's statuses, serves the message log. */
export async function buildApp(
  config: Config & BaseConfig,
  log: Log,
  times: Times = TIMES,
): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('dispatcher', config)
  const instance = randomUUID()
  const tokenSigner = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'dispatcher', jwks: config.SERVICE_JWKS })
  const calls = await createServiceCalls({ caFile: config.TLS_CA_FILE, log })
  const inner = (urls: URL[], audience: 'identity' | 'configuration' | 'webhook') =>
    createInternalClient({ targets: roundRobin(urls), audience, signer: tokenSigner, calls })
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
  const collections = collectionsOf(database.connection)
  const layout = () => readLayout(collections.layouts)
  const closing = Promise.withResolvers<void>()
  const { messages } = collections
  const { deliveries } = eventCollectionsOf(database.connection)
  const redis = connectRedis(config.REDIS_URL, log)
  const broker = await connectBroker({
    url: config.AMQP_URL,
    declare: declareQueues({ instance, ready: Promise.race([database.ready, closing.promise]), layout }),
    log,
  })
  const auditBroker = await connectBroker({ url: config.AMQP_URL, declare: async () => {}, log })
  const { declare } = broker
  const publisher = createPublisher({ broker, log })
  const statuses = watchStatuses({
    instance,
    publisher,
    gateways: roundRobin(config.GATEWAY_URL),
    webhooks: roundRobin(config.WEBHOOK_URL),
    calls,
    collections,
    times,
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
  const traffic = createTraffic({ collections, instance, log })
  const outbound = createOutbound({
    config,
    replica,
    secrets,
    instance,
    redis,
    publisher,
    statuses,
    registry,
    tracing,
    log,
    collections,
    configuration,
    webhook,
    traffic,
    times,
  })
  const statusWork = {
    ...{ collections, metrics: outbound.metrics, traffic, replica, publisher },
    committer: createCommitter(messages, statusWriter(instance)),
  }
  const statusQueues = statusConsumers({
    ...statusWork,
    deadLetters: publisher,
    declare,
    log,
  })
  const earlyStatuses = startEarlyStatuses({ ...statusWork, ready: database.ready, log })
  const retentionMs = retentionOf(config)
  const identity = inner(config.IDENTITY_URL, 'identity')
  const authorizer = createAuthorizer(identity)
  const events = startEvents({
    ...{ instance, store, replica, secrets, configuration, identity, authorizer, retentionMs, log },
    declare,
    collections: { ...collections, ...eventCollectionsOf(database.connection) },
    ready: database.ready,
    db: () => database.connection.db as mongo.Db,
    http: createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS }),
    views: { detailOf, summaryOf, threadOf: threadSummary },
    deadLetters: publisher,
  })
  showEvents(registry, { waiting: events.waiting, relayLagSeconds: events.relay.lagSeconds })
  const changed = (workspace: number, resource: string) => {
    replica.changed(workspace)
    if (resource === 'subscriptions') events.subscriptions.refresh(workspace).catch(() => undefined)
  }
  const changes = followDocumentChanges({ instance, store, replica: { changed }, declare, log })
  const startSession = (options: mongo.ClientSessionOptions = {}) =>
    database.connection.getClient().startSession(options)
  let partitions: Partitions | undefined
  const workedPartitions = () => partitions?.working() ?? new Map<number, Partition>()
  showState(registry, {
    broker,
    partitionsLeased: () => workedPartitions().size,
    layout,
    oldest: () =>
      new Map([
        ...[...statusQueues].map(([queue, consumer]) => [queue, consumer.oldestAt()] as const),
        ...[...workedPartitions()].map(
          ([, partition]) => [partitionQueue(partition.lease), partition.oldestAt()] as const,
        ),
      ]),
    difference: () => reconciliationDifference(collections),
    auditLagSeconds: () => auditLagSeconds(collections),
  })
  showWaiting(registry, () =>
    Promise.all([...workedPartitions().values()].map((partition) => partition.waiting())),
  )
  const working = database.ready.then(() => {
    const recentlyStored = new RecentlyStored()
    const store = createIntakeStore({ messages, recentlyStored, log })
    const committer = createCommitter(messages, instance)
    const threadLog = createThreadLog({ collections, instance, retentionMs, log })
    const { run, agents, channels } = outbound
    const nonSpeech = createNonSpeech({ collections, channels, threadLog, retentionMs })
    const work = {
      ...{ instance, collections, store, nonSpeech, committer, run, threadLog, traffic, log },
      modelCalls: agents.calls,
      deadLetters: publisher,
      declare,
    }
    const started = startPartitions({
      leases: createLeaseStore({ collections, instance, name: config.INSTANCE_NAME }),
      layout,
      instance,
      open: (lease) => openPartition({ lease, partitions: () => workedPartitions().size, ...work }),
      log,
    })
    partitions = started
    broker.follow(started)
    const auditor = startAuditor({
      ...{ collections, startSession, instance, publisher, recentlyStored, retentionMs, declare, times, log },
      broker: auditBroker,
    })
    auditBroker.follow(auditor)
    for (const consumer of [events.changes, events.notices, ...changes]) broker.follow(consumer)
    for (const consumer of statusQueues.values()) broker.follow(consumer)
    const changing = startLayoutChanges({
      ...{ collections, startSession, broker, publisher, instance, log },
      configured: config.PARTITIONS,
    })
    const addingUp = startAddingUp({ collections, instance, log })
    return {
      close: async () => {
        await Promise.all([started.close(), auditor.close(), changing.stop(), addingUp.stop()])
        await threadLog.close()
      },
    }
  })
  const db = () => database.connection.db
  const streams = createEventStreams({
    db,
    connectRedis: () => connectRedis(config.REDIS_URL, log),
    database: config.MONGO_DATABASE,
    view: threadSummary,
    registry,
    log,
  })
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
      const needed = {
        ...{ collections, authorizer, configuration, identity, publisher },
        ...{ startSession, retentionMs, deliveries },
        committer: createCommitter(messages, `cancel:${instance}`),
        ...{ streams, db, webhook, channels: outbound.channels, agents: outbound.agents },
        ...outbound.connecting,
        http: outbound.media,
        mediaSlots: createMediaSlots(),
        insert: events.insert,
        isFirstOfName: createIsFirstOfName(collections),
        idempotency: createIdempotency({ redis, prefix: 'reply', log }),
        countLost: (workspace: number) =>
          countLostMessages(collections.audited, { workspace, now: Date.now() }),
        erasers: [
          eraseAudio(webhook),
          eraseTasks(configuration),
          erasePerson(webhook, collections.threads),
          eraseNotes(collections.notes),
          eraseDeliveries({ deliveries, messages }),
        ],
      }
      // The gateway takes posts of messages to the webhook.
      const elsewhere = { '/rest/messages': ['POST'] } as const
      app.use(serveRoutes(routes, needed, { requireCaller: requireCaller(verifier), elsewhere }))
    },
  })
  return {
    app,
    registry,
    endStreams: streams.end,
    close: async () => {
      closing.resolve()
      await streams.close()
      if (await database.isUp().catch(() => false)) await (await working).close()
      await Promise.all([statuses.close(), earlyStatuses.stop()])
      await Promise.all([...statusQueues.values()].map((consumer) => consumer.close()))
      await traffic.close()
      await Promise.all([publisher, events.changes, events.notices, ...changes].map((one) => one.close()))
      await events.close()
      await Promise.all([broker.close(), auditBroker.close()])
      redis.disconnect()
      await Promise.all([outbound.close(), database.close(), tracing.close()])
      await calls.close()
    },
  }
}
