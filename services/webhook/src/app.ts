import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { followChanges } from '@parley/shared/config-replica/follow-changes'
import { createReplica } from '@parley/shared/config-replica/replica'
import { createReplicaStore } from '@parley/shared/config-replica/replica-store'
import { createTracing } from '@parley/shared/create-tracing'
import { setLinger } from '@parley/shared/group'
import { createConfirmedIds, createIdempotency } from '@parley/shared/idempotency'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { sizesOf } from '@parley/shared/memory'
import { connectBroker } from '@parley/shared/messaging/connection'
import { requireSlots } from '@parley/shared/messaging/layout'
import { createPublishObserver } from '@parley/shared/messaging/publish-observer'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { declareChanges, declareTopology, MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connectMongo } from '@parley/shared/mongo'
import { serveRoutes } from '@parley/shared/openapi/route'
import { connectRedis } from '@parley/shared/redis'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, requireService, type Service } from '@parley/shared/service-app'
import { createServiceCalls } from '@parley/shared/service-calls'
import { withTimeout } from '@parley/shared/with-timeout'
import { Counter, Registry } from 'prom-client'
import { createAudioStore } from './audio/audio-store.ts'
import { createBodyBudget } from './body/body-budget.ts'
import { createChannels } from './channels.ts'
import type { Config } from './config.ts'
import { collectionsOf, prepareDatabase } from './database.ts'
import { createHookLog } from './hooks/hook-notes.ts'
import { createFindHook } from './inbound/find-hook.ts'
import { internalRoutes } from './internal-routes.ts'
import { campaignRoutes } from './native/receive-campaign.ts'
import { createPeople } from './people/people.ts'
import { routes } from './routes.ts'
import { createWorkspaces } from './workspaces.ts'

/** Changes to channels, for the replicas in the database: whichever instance takes them. */
const CHANGES_QUEUE = 'webhook.channels'
const MAX_CHANGES = 100_000
/** The instances share that queue, so the memory of each is trusted for a second. */
const FRESH_MS = 1_000
const LOOKUP_MS = 2_000
const KIB = 1024
const MIB = 1024 * KIB
/** Below it another service asks than below the rest. */
const CAMPAIGNS_PATH = '/internal/workspaces/:workspace/campaigns'
// Apart, so that what nobody has signed for can't take the room of callers who are known.
const FREE_BYTES = { authenticated: MIB, unsigned: 256 * KIB }

/** Connects to MongoDB, the broker and Redis in the background and wires the webhook service. */
export async function buildApp(config: Config & BaseConfig, log: Log): Promise<Service> {
  setLinger(config.LINGER_MS)
  const registry = new Registry()
  const sizes = sizesOf(config.MEMORY)
  const tracing = await createTracing('webhook', config)
  const signer = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'webhook', jwks: config.SERVICE_JWKS })
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
  const box = createSecretBox(secretKeysOf(config))
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
    maxUnconfirmedBytes: sizes.unconfirmedBytes,
    log,
  })
  const replica = createReplica({
    store,
    configuration: { get: (path) => withTimeout(LOOKUP_MS, configuration.get(path)) },
    freshMs: FRESH_MS,
    missesFreshMs: FRESH_MS,
    log,
  })
  const channels = createChannels(replica)
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
  const workspaces = createWorkspaces({ identity, known: collections.workspaces })
  const findHook = createFindHook({ workspaces, channels })
  const notes = createHookLog(collections.hooks, log)
  const audio = createAudioStore(database.connection)
  const people = createPeople({
    people: collections.people,
    startSession: () => database.connection.getClient().startSession(),
  })
  const skipped = new Counter({
    name: 'parley_updates_skipped_total',
    help: 'Messages and statuses of providers that were left out: malformed, with an id that is too long, for another channel, or of a kind with which nothing is done',
    labelNames: ['reason'],
    registers: [registry],
  })
  const app = createApp({
    log,
    registry,
    tracing,
    readiness: {
      required: { rabbitmq: () => publisher.isUp() },
      // Without these it serves channels and workspaces that it knows, and the derived id still makes a repeat one message.
      optional: { redis: async () => (await redis.ping()) === 'PONG', mongodb: database.isUp },
    },
    routes: (app) => {
      const needed = {
        ...{ publisher, channels, people, audio, findHook, notes, box, skipped, log },
        ...{ configuration, publicUrl: config.PUBLIC_URL, signingSecret: config.SIGNING_SECRET },
        bodyTimeoutMs: config.BODY_TIMEOUT_MS,
        budgets: {
          authenticated: createBodyBudget({
            ...sizes.bodies.authenticated,
            free: FREE_BYTES.authenticated,
          }),
          unsigned: createBodyBudget({ ...sizes.bodies.unsigned, free: FREE_BYTES.unsigned }),
        },
        hooks: collections.hooks,
        authorizer: createAuthorizer(identity),
        idempotency: createIdempotency({ redis, prefix: 'idempotency', log }),
        confirmedIds: createConfirmedIds(redis, log),
      }
      app.use(serveRoutes(routes(), needed, { requireCaller: requireCaller(verifier) }))
      const campaigns = requireService(verifier, 'campaigns')
      app.use(CAMPAIGNS_PATH, campaigns, campaignRoutes({ publisher, people }))
      app.use(
        '/internal',
        requireService(verifier, 'dispatcher', 'campaigns'),
        internalRoutes({ audio, people }),
      )
    },
  })
  return {
    app,
    registry,
    close: async () => {
      await Promise.all([publisher.close(), changes.close()])
      await Promise.all([broker.close(), changesBroker.close()])
      redis.disconnect()
      await Promise.all([database.close(), calls.close(), tracing.close()])
    },
  }
}
