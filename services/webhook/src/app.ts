import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { setLinger } from '@parley/shared/group'
import { createConfirmedIds, createIdempotency } from '@parley/shared/idempotency'
import { createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { sizesOf } from '@parley/shared/memory'
import { serveRoutes } from '@parley/shared/openapi/route'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, requireService, type Service } from '@parley/shared/service-app'
import { Counter } from 'prom-client'
import { createAudioStore } from './audio/audio-store.ts'
import { createBodyBudget } from './body/body-budget.ts'
import { createChannels } from './channels.ts'
import type { Config } from './config.ts'
import { connect } from './connections.ts'
import { createHookLog } from './hooks/hook-notes.ts'
import { createFindHook } from './inbound/find-hook.ts'
import { internalRoutes } from './internal-routes.ts'
import { campaignRoutes } from './native/receive-campaign.ts'
import { createPeople } from './people/people.ts'
import { routes } from './routes.ts'
import { createWorkspaces } from './workspaces.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Below it another service asks than below the rest. */
const CAMPAIGNS_PATH = '/internal/workspaces/:workspace/campaigns'
// Apart, so that what nobody has signed for can't take the room of callers who are known.
const FREE_BYTES = { authenticated: MIB, unsigned: 256 * KIB }

/** Connects to MongoDB, the broker and Redis in the background and wires the webhook service. */
export async function buildApp(config: Config & BaseConfig, log: Log): Promise<Service> {
  setLinger(config.LINGER_MS)
  const sizes = sizesOf(config.MEMORY)
  const box = createSecretBox(secretKeysOf(config))
  const verifier = createInternalVerifier({ audience: 'webhook', jwks: config.SERVICE_JWKS })
  const connections = await connect({ config, box, log })
  const { registry, tracing, identity, configuration, database, collections, publisher, redis } = connections
  const channels = createChannels(connections.replica)
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
  return { app, registry, close: connections.close }
}
