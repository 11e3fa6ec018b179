import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { pathsOf } from '@parley/shared/configuration-resources'
import { createTracing } from '@parley/shared/create-tracing'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import type { Log } from '@parley/shared/log'
import { methodNotAllowed } from '@parley/shared/problem'
import type { Relay } from '@parley/shared/relay/relay'
import { createSecretBox, type SecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import { createApp, requireCaller, requireService, type Service } from '@parley/shared/service-app'
import { createServiceCalls } from '@parley/shared/service-calls'
import { Router } from 'express'
import { Gauge, Registry } from 'prom-client'
import { checkConfiguration } from './check/check-configuration.ts'
import type { Config } from './config.ts'
import { deleteDocument } from './documents/delete-document.ts'
import type { Dependencies } from './documents/dependencies.ts'
import { listDocuments } from './documents/list-documents.ts'
import { PATCH_TYPES, patchDocument } from './documents/patch-document.ts'
import { postDocument } from './documents/post-document.ts'
import { putDocument } from './documents/put-document.ts'
import { readDocument } from './documents/read-document.ts'
import { type ConfigurationEvents, connectConfigurationEvents } from './events/configuration-events.ts'
import { readHistory } from './history/read-history.ts'
import { writeHistory } from './history/write-history.ts'
import { internalRoutes } from './internal/internal-routes.ts'
import { startDocumentRelay } from './relay/relay.ts'
import { allResources } from './resources/all-resources.ts'
import type { ResourceDefinition } from './resources/definition.ts'
import { startSealing } from './sealing/start-sealing.ts'
import { createSpecReader } from './specs/spec-reader.ts'
import { type Database, openDatabase } from './store/database.ts'
import { createIdCounter } from './store/id-counter.ts'
import { createKeyedQueue } from './store/keyed-queue.ts'
import { consumeSubmissions } from './tasks/consume-submissions.ts'
import { exportConfiguration } from './transfer/export-configuration.ts'
import { importConfiguration } from './transfer/import-configuration.ts'

const MAX_BODY_BYTES = 4 * 1024 * 1024

// Some 4,000 documents; what is more is imported in parts.
const MAX_IMPORT_MEMBERS = 40_000

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
      app.use('/internal', requireService(verifier, 'dispatcher', 'webhook'), internalRoutes(dependencies))
      app.use('/rest', requireCaller(verifier), restRoutes(dependencies))
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

/** `/check`, `/export`, `/import`, and `/{resource}` and `/{resource}/{id}`, the same for every resource. */
function restRoutes(dependencies: Dependencies): Router {
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_BODY_BYTES })
  const importBody = jsonBody({ maxBytes: MAX_BODY_BYTES, maxMembers: MAX_IMPORT_MEMBERS })
  const patchBody = jsonBody({ maxBytes: MAX_BODY_BYTES, types: PATCH_TYPES })
  const resource = (path: string, definition: ResourceDefinition) => {
    router
      .route(`/${path}`)
      .get(listDocuments(dependencies, definition))
      .post(body, postDocument(dependencies, definition))
      .all(methodNotAllowed('GET', 'POST'))
    router
      .route(`/${path}/:id`)
      .get(readDocument(dependencies, definition))
      .put(body, putDocument(dependencies, definition))
      .patch(patchBody, patchDocument(dependencies, definition))
      .delete(deleteDocument(dependencies, definition))
      .all(methodNotAllowed('GET', 'PUT', 'PATCH', 'DELETE'))
    router
      .route(`/${path}/:id/history`)
      .get(readHistory(dependencies, definition))
      .all(methodNotAllowed('GET'))
  }
  for (const definition of allResources)
    for (const path of pathsOf(definition.name)) resource(path, definition)
  router.route('/check').get(checkConfiguration(dependencies)).all(methodNotAllowed('GET'))
  router.route('/export').get(exportConfiguration(dependencies)).all(methodNotAllowed('GET'))
  router.route('/import').post(importBody, importConfiguration(dependencies)).all(methodNotAllowed('POST'))
  return router
}
