import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { createTracing } from '@parley/shared/create-tracing'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { serveRoutes } from '@parley/shared/openapi/route'
import type { Relay } from '@parley/shared/relay/relay'
import { createSecretBox, type SecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, requireService, type Service } from '@parley/shared/service-app'
import { createServiceCalls } from '@parley/shared/service-calls'
import { Gauge, Registry } from 'prom-client'
import type { Config } from './config.ts'
import { type ConfigurationEvents, connectConfigurationEvents } from './events/configuration-events.ts'
import { writeHistory } from './history/write-history.ts'
import { internalRoutes } from './internal/internal-routes.ts'
import { startDocumentRelay } from './relay/relay.ts'
import { routes } from './routes.ts'
import { startSealing } from './sealing/start-sealing.ts'
import { createSpecReader } from './specs/spec-reader.ts'
import { type Database, openDatabase } from './store/database.ts'
import { createIdCounter } from './store/id-counter.ts'
import { createKeyedQueue } from './store/keyed-queue.ts'
import { consumeSubmissions } from './tasks/consume-submissions.ts'

/** Connects to the database in the background and wires the configuration service. */
export async function buildApp(config: Config & BaseConfig, log: Log): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('configuration', config)
  const signer = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'configuration', jwks: config.SERVICE_JWKS })
  const targets = roundRobin(config.IDENTITY_URL)
  const calls = await createServiceCalls({ caFile: config.TLS_CA_FILE, log })
  const identity = createInternalClient({ targets, audience: 'identity', signer, calls })
  const database = openDatabase({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    memory: config.MEMORY,
    log,
  })
  const secrets = createSecretBox(secretKeysOf(config))
  const events = config.AMQP_URL ? await connectConfigurationEvents({ url: config.AMQP_URL, log }) : undefined
  const isReadByEarlier = events?.isReadByEarlier ?? (async () => false)
  const sealing = startSealing({ database, secrets, isReadByEarlier, log })
  const specs = createSpecReader()
  const dependencies = {
    database,
    specs,
    ids: createIdCounter(database),
    writes: createKeyedQueue(),
    authorizer: createAuthorizer(identity),
    secrets: sealing.secrets,
  }
  const relays = startRelays({ database, secrets, events, log })
  showLag(registry, relays)
  const submissions =
    config.AMQP_URL && (await consumeSubmissions({ url: config.AMQP_URL, dependencies, log }))
  const app = createApp({
    log,
    registry,
    tracing,
    readiness: {
      required: { mongodb: database.isUp },
      optional: events === undefined ? {} : { rabbitmq: events.isUp },
    },
    routes: (app) => {
      app.use(
        '/internal',
        requireService(verifier, 'dispatcher', 'webhook', 'campaigns'),
        internalRoutes(dependencies),
      )
      app.use(serveRoutes(routes, dependencies, { requireCaller: requireCaller(verifier) }))
    },
  })
  return {
    app,
    registry,
    close: async () => {
      if (submissions) await submissions.close()
      await sealing.stop()
      await Promise.all(Object.values(relays).map((relay) => relay.close()))
      await events?.close()
      await Promise.all([database.close(), specs.close(), calls.close(), tracing.close()])
    },
  }
}

function startRelays(options: {
  database: Database
  secrets: SecretBox
  events: ConfigurationEvents | undefined
  log: Log
}): Record<string, Relay> {
  const { database, secrets, events, log } = options
  const history = startDocumentRelay({
    name: 'history',
    database,
    log,
    handle: (changes) => writeHistory(database, secrets, changes),
  })
  if (events === undefined) return { history }
  const published = startDocumentRelay({ name: 'events', database, log, handle: events.publish })
  return { history, events: published }
}

function showLag(registry: Registry, relays: Record<string, Relay>): void {
  new Gauge({
    name: 'parley_relay_lag_seconds',
    help: 'Age of the oldest write that is not yet in the history, or not yet published to the other services',
    labelNames: ['relay'],
    registers: [registry],
    collect() {
      for (const [name, relay] of Object.entries(relays)) this.set({ relay: name }, relay.lagSeconds())
    },
  })
}
