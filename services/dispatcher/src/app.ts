import { randomUUID } from 'node:crypto'
import type { BaseConfig } from '@parley/shared/config'
import { createReplica } from '@parley/shared/config-replica/replica'
import { createReplicaStore } from '@parley/shared/config-replica/replica-store'
import { createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { partitionQueue } from '@parley/shared/messaging/layout'
import { serveRoutes } from '@parley/shared/openapi/route'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, requireService, type Service } from '@parley/shared/service-app'
import type { Express } from 'express'
import { campaignRoutes } from './api/campaigns/campaign-routes.ts'
import { createStandings } from './api/campaigns/standings.ts'
import { createApi } from './api/create-api.ts'
import { internalRoutes } from './api/internal/internal-routes.ts'
import { detailOf, summaryOf } from './api/messages/view.ts'
import { templateRoutes } from './api/templates/internal-routes.ts'
import { threadSummary } from './api/threads/view.ts'
import { createHttpClient } from './channels/http/http-client.ts'
import type { Config } from './config.ts'
import { connect } from './connections.ts'
import { startConsent } from './consent/start-consent.ts'
import { followWords } from './conversations/follow-words.ts'
import { createReportPeople } from './conversations/report-people.ts'
import { createOutbound, type Outbound, retentionOf } from './deliver/outbound.ts'
import { startIntake } from './intake/start-intake.ts'
import { startLayoutChanges } from './layout/change-layout.ts'
import { createMetrics } from './metrics/metrics.ts'
import { showEvents, showState, showWaiting } from './metrics/show-state.ts'
import { startEvents } from './outgoing/events.ts'
import { auditLagSeconds, reconciliationDifference } from './reconciliation/audit-state.ts'
import { startAuditor } from './reconciliation/auditor.ts'
import { countLostMessages } from './reconciliation/count.ts'
import { followDocumentChanges } from './replica/follow-changes.ts'
import { type Needed, routes } from './routes.ts'
import type { Partitions } from './schedule/partitions.ts'
import { type Statuses, startStatuses } from './statuses/start-statuses.ts'
import { startAddingUp } from './store/add-up-usage.ts'
import { RecentlyStored } from './store/recently-stored.ts'
import { createTraffic } from './store/traffic.ts'
import { TIMES, type Times } from './times.ts'

/** Connects in the background, works this instance's partitions and the provider's statuses, serves the message log. */
export async function buildApp(
  config: Config & BaseConfig,
  log: Log,
  times: Times = TIMES,
): Promise<Service> {
  const instance = randomUUID()
  const connections = await connect({ config, instance, log })
  const { registry, tracing, database, collections, redis, broker, configuration } = connections
  const { ready, publisher } = connections
  const secrets = createSecretBox(secretKeysOf(config))
  const store = createReplicaStore({ replicas: collections.replicas, box: secrets })
  // This instance has a queue of changes of its own, so its memory is trusted until an event.
  const trusted = { freshMs: Number.POSITIVE_INFINITY, missesFreshMs: 0 }
  const replica = createReplica({ store, configuration, ...trusted, log })
  const traffic = createTraffic({ collections, instance, log })
  const metrics = createMetrics(registry)
  const given = { ...connections, config, instance, log, times, secrets, store, replica, traffic, metrics }
  const common = { ...given, retentionMs: retentionOf(config) }
  const consent = startConsent(common)
  const { heed, record: recordConsent, suppressions } = consent
  const reportPeople = createReportPeople({ publisher, suppressions })
  const statuses = startStatuses({ ...common, recordConsent })
  const outbound = createOutbound({ ...common, consent, statuses: statuses.arrival })
  const events = startEvents({
    ...common,
    ...{ recordConsent, suppressions },
    http: createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS }),
    views: { detailOf, summaryOf, threadOf: threadSummary },
  })
  const words = followWords(common)
  const changed = (workspace: number, resource: string) => {
    replica.changed(workspace)
    if (resource === 'subscriptions') events.subscriptions.refresh(workspace).catch(() => undefined)
  }
  const changes = [
    ...followDocumentChanges({ ...common, replica: { changed } }),
    ...[events.changes, events.notices, events.campaigns],
  ]
  const followers = [...changes, ...statuses.consumers.values()]
  let work: Work | undefined
  const working = ready.then(() => {
    work = startWork({ ...common, heed, reportPeople, outbound, followers })
    return work
  })
  show({ ...common, events, words, statuses, working: () => work?.partitions.working() ?? new Map() })
  const api = createApi({ ...common, outbound })
  const { streams } = api
  const app = createApp({
    ...{ log, registry, tracing },
    readiness: {
      required: { mongodb: database.isUp, rabbitmq: broker.isUp },
      // Without it each instance sends at an eighth of a number's rate.
      optional: { redis: async () => (await redis.ping()) === 'PONG' },
    },
    routes: (app) => mountRoutes(app, { ...common, ...api, insert: events.insert, suppressions, outbound }),
  })
  const close = async () => {
    connections.endWaiting()
    await streams.close()
    if (await database.isUp().catch(() => false)) await (await working).close()
    await statuses.close()
    await traffic.close()
    await Promise.all([publisher, ...changes].map((one) => one.close()))
    await Promise.all([events.close(), words.close()])
    await consent.stop()
    await outbound.close()
    await connections.close()
  }
  return { app, registry, endStreams: streams.end, close }
}

type Connections = Awaited<ReturnType<typeof connect>>

/** Serves what callers may ask through the gateway and, below /internal, what the campaigns service may. */
function mountRoutes(
  app: Express,
  options: Omit<Needed, 'countLost'> &
    Parameters<typeof internalRoutes>[0] &
    Pick<Connections, 'collections' | 'publisher'> & { config: BaseConfig; outbound: Outbound },
): void {
  const { config, collections, publisher, outbound } = options
  const verifier = createInternalVerifier({ audience: 'dispatcher', jwks: config.SERVICE_JWKS })
  const standings = createStandings({ collections, channels: outbound.channels, http: outbound.media })
  app.use(
    '/internal',
    requireService(verifier, 'campaigns'),
    templateRoutes(outbound.templates),
    internalRoutes(options),
  )
  app.use('/internal/workspaces/:workspace/campaigns', campaignRoutes({ collections, publisher, standings }))
  const countLost = (workspace: number) =>
    countLostMessages(collections.audited, { workspace, now: Date.now() })
  // The gateway takes posts of messages to the webhook.
  const elsewhere = { '/rest/messages': ['POST'] } as const
  const served = { requireCaller: requireCaller(verifier), elsewhere }
  app.use(serveRoutes(routes, { ...options, countLost }, served))
}

/** The workers on stored messages: they start once the database can be used. */
interface Work {
  partitions: Partitions
  close(): Promise<void>
}

function startWork(
  options: Connections &
    Omit<Parameters<typeof startIntake>[0] & Parameters<typeof startAuditor>[0], 'recentlyStored'> & {
      config: Config
      /** The functions that consume from the broker from then on. */
      followers: readonly Parameters<Connections['broker']['follow']>[0][]
    },
): Work {
  const { config, broker, auditBroker, followers } = options
  const recentlyStored = new RecentlyStored()
  const partitions = startIntake({ ...options, recentlyStored })
  broker.follow(partitions)
  const auditor = startAuditor({ ...options, recentlyStored, broker: auditBroker })
  auditBroker.follow(auditor)
  for (const follower of followers) broker.follow(follower)
  const layoutChanges = startLayoutChanges({ ...options, configured: config.PARTITIONS })
  const addingUp = startAddingUp(options)
  return {
    partitions,
    close: async () => {
      await Promise.all([partitions.close(), auditor.close(), layoutChanges.stop(), addingUp.stop()])
    },
  }
}

/** Shows the state of queues, partitions, audit and events as metrics. */
function show(
  options: Pick<Connections, 'registry' | 'broker' | 'layout' | 'collections'> & {
    events: ReturnType<typeof startEvents>
    words: ReturnType<typeof followWords>
    statuses: Statuses
    working: Partitions['working']
  },
): void {
  const { registry, broker, layout, collections, events, words, statuses, working } = options
  const partitions = () => [...working().values()]
  showEvents(registry, {
    ...{ waiting: events.waiting, relayLagSeconds: events.relay.lagSeconds },
    wordsLagSeconds: words.lagSeconds,
  })
  showState(registry, {
    ...{ broker, layout },
    partitionsLeased: () => working().size,
    oldest: () =>
      new Map([
        ...[...statuses.consumers].map(([queue, consumer]) => [queue, consumer.oldestAt()] as const),
        ...partitions().map(({ lease, oldestAt }) => [partitionQueue(lease), oldestAt()] as const),
      ]),
    difference: () => reconciliationDifference(collections),
    auditLagSeconds: () => auditLagSeconds(collections),
  })
  showWaiting(registry, () => Promise.all(partitions().map((partition) => partition.waiting())))
}
