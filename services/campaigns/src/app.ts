import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { createTracing } from '@parley/shared/create-tracing'
import { createInternalClient, roundRobin } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { serveRoutes } from '@parley/shared/openapi/route'
import { prepareCollections } from '@parley/shared/prepare-collections'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import { createServiceCalls } from '@parley/shared/service-calls'
import { Registry } from 'prom-client'
import type { CampaignRoutesNeeded } from './campaigns/api/campaign-access.ts'
import { CAMPAIGN_FIELDS } from './campaigns/api/campaign-view.ts'
import type { RunServices } from './campaigns/run/campaign-step.ts'
import { findTemplate } from './campaigns/run/find-template.ts'
import { startCampaigns } from './campaigns/run/start-campaigns.ts'
import { CAMPAIGN_INDEXES, campaignCollectionsOf } from './campaigns/store/campaign-collections.ts'
import type { Config } from './config.ts'
import { consumePeople } from './consent/consume-people.ts'
import type { Dependencies } from './dependencies.ts'
import { beginEvents, relayEvents } from './events/relay-events.ts'
import { HISTORY_INDEXES } from './history/write-history.ts'
import { IMPORT_INDEXES } from './imports/import-record.ts'
import { PERSON_FIELDS } from './people/person-schema.ts'
import { routes } from './routes.ts'
import { SEGMENT_INDEXES } from './segments/segment-store.ts'
import { CONSENT_INDEXES } from './store/consent-history.ts'
import { PEOPLE_INDEXES } from './store/people-collection.ts'
import { TEMPLATE_FIELDS } from './templates/template-schema.ts'
import { TEMPLATE_INDEXES } from './templates/template-store.ts'
import { startTemplates } from './templates/template-worker.ts'
import { TIMES, type Times } from './times.ts'

/** The fields that the rules of roles see, by resource. */
const RULED_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  people: PERSON_FIELDS,
  templates: TEMPLATE_FIELDS,
  campaigns: CAMPAIGN_FIELDS,
}

/** The collections and the indexes of each. */
const INDEXES = {
  history: HISTORY_INDEXES,
  relays: [],
  attributes: [],
  people: PEOPLE_INDEXES,
  consents: CONSENT_INDEXES,
  segments: SEGMENT_INDEXES,
  ...IMPORT_INDEXES,
  ...TEMPLATE_INDEXES,
  ...CAMPAIGN_INDEXES,
}

/** Connects to the database in the background and wires the campaigns service. */
export async function buildApp(
  config: Config & BaseConfig,
  log: Log,
  times: Times = TIMES,
): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('campaigns', config)
  const signer = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'campaigns', jwks: config.SERVICE_JWKS })
  const calls = await createServiceCalls({ caFile: config.TLS_CA_FILE, log })
  const inner = (urls: URL[], audience: 'identity' | 'configuration' | 'webhook' | 'dispatcher') =>
    createInternalClient({ targets: roundRobin(urls), audience, signer, calls })
  const mongo = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    memory: config.MEMORY,
    log,
    prepare: async (connection) => {
      await prepareCollections(connection, INDEXES)
      await beginEvents(connection)
    },
  })
  const fieldsOf = (resource: string) => RULED_FIELDS[resource]
  const others = {
    configuration: inner(config.CONFIGURATION_URL, 'configuration'),
    dispatcher: inner(config.DISPATCHER_URL, 'dispatcher'),
    webhook: inner(config.WEBHOOK_URL, 'webhook'),
  }
  const campaigns: RunServices = {
    ...{ connection: mongo.connection, collections: campaignCollectionsOf(mongo.connection), log },
    ...{ ...others, findTemplate, times },
  }
  const running = startCampaigns({ ...campaigns, ready: mongo.ready })
  const dependencies: Dependencies & CampaignRoutesNeeded = {
    ...{ connection: mongo.connection, campaigns, campaignChanged: running.changed, ...others },
    importMaxBytes: config.IMPORT_MAX_BYTES,
    authorizer: createAuthorizer(inner(config.IDENTITY_URL, 'identity'), fieldsOf),
  }
  const stored = { connection: mongo.connection, ready: mongo.ready, log }
  const url = config.AMQP_URL
  const people = url === undefined ? undefined : await consumePeople({ ...stored, url })
  const events = url === undefined ? undefined : await relayEvents({ ...stored, registry, url })
  const templates = await startTemplates({ ...dependencies, ready: mongo.ready, url, log })
  const app = createApp({
    log,
    registry,
    tracing,
    readiness: { required: { mongodb: mongo.isUp } },
    routes: (app) => {
      app.use(serveRoutes(routes, dependencies, { requireCaller: requireCaller(verifier) }))
    },
  })
  return {
    app,
    registry,
    takesUploads: true,
    close: async () => {
      await running.close()
      await people?.close()
      await events?.close()
      await templates.stop()
      await Promise.all([mongo.close(), calls.close(), tracing.close()])
    },
  }
}
