import { buildApp as buildCampaigns } from '@parley/campaigns/app'
import { config as campaignsConfig } from '@parley/campaigns/config'
import { buildApp as buildConfiguration } from '@parley/configuration/app'
import { config as configurationConfig } from '@parley/configuration/config'
import { buildApp as buildDispatcher } from '@parley/dispatcher/app'
import { config as dispatcherConfig } from '@parley/dispatcher/config'
import { buildApp as buildGateway } from '@parley/gateway/app'
import { gatewayConfig } from '@parley/gateway/config'
import { buildApp as buildIdentity } from '@parley/identity/app'
import { identityConfig } from '@parley/identity/config'
import { type Caller, createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import { buildApp as buildWebhook } from '@parley/webhook/app'
import { config as webhookConfig } from '@parley/webhook/config'
import { mongo } from 'mongoose'
import { sendJson } from './send-json.ts'
import {
  makeServiceKeys,
  namedSecret,
  type RunningService,
  type ServiceKeys,
  startService,
} from './service-under-test.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { declareTestLayoutAt, TEST_LAYOUT } from './test-layout.ts'
import { freshDatabase, releaseDatabase, testServers } from './test-servers.ts'
import { TEST_CAMPAIGN_TIMES, TEST_TIMES } from './test-times.ts'

type Environment = Record<string, string>
/** The parts that a proxy can stand in front of. */
export type Proxied = 'mongo' | 'rabbitmq' | 'redis' | 'configuration'

export interface ParleyOptions {
  /** Those that run; all but campaigns when left out. Identity is always among them. */
  services?: ServiceName[]
  /** The parts that each of them reaches through a proxy that can be cut. */
  proxies?: Partial<Record<ServiceName, Proxied[]>>
  /** Added to the environment of one of them, or of all. */
  environment?: Partial<Record<ServiceName | 'all', Environment>>
  /** Each one's own `MONGO_URL`, `AMQP_URL`, `REDIS_URL`, in place of the test servers; its database has its name. */
  servers?: Record<ServiceName, Environment>
}

/** Services of the system in this process, which know each other, on the test servers. */
export interface Parley {
  keys: ServiceKeys
  /** The gateway's. */
  url: string
  /** Those that were asked for. */
  services: Record<ServiceName, RunningService>
  proxies: Record<Proxied, TcpProxy>
  /** A service's database. */
  database(name: ServiceName): mongo.Db
  /** Starts a further instance of a service; it is closed with the rest. */
  start(name: ServiceName, environment?: Environment): Promise<RunningService>
  /** The `authorization` that a service sends to another one, for itself or for a caller. */
  authorization(issuer: ServiceName, audience: ServiceName, caller?: Caller): string
  close(): Promise<void>
}

const START_SEQUENCE: ServiceName[] = [
  'identity',
  'configuration',
  'webhook',
  'dispatcher',
  'campaigns',
  'gateway',
]
const SIGNED_FOR_MS = 20_000
const BY_DEFAULT = START_SEQUENCE.filter((name) => name !== 'campaigns')

/** Starts them in the order in which they need each other. */
export async function startParley(options: ParleyOptions = {}): Promise<Parley> {
  const { services = BY_DEFAULT, environment = {} } = options
  const keys = makeServiceKeys()
  const servers = options.servers === undefined ? await serversFor(services) : undefined
  const running: RunningService[] = []
  const first: Partial<Record<ServiceName, RunningService>> = {}
  const proxies: Partial<Record<Proxied, TcpProxy>> = {}
  const through = async (name: ServiceName, target: Proxied, url: string) => {
    if (!options.proxies?.[name]?.includes(target)) return url
    proxies[target] ??= await startTcpProxy(addressOf(url))
    return behind(url, proxies[target])
  }
  // One that does not run is only asked whether it is ready.
  const urlOf = (name: ServiceName) => (first[name] ?? first.identity)?.url ?? ''
  const environmentOf = async (name: ServiceName): Promise<Environment> => ({
    ...OWN[name],
    ...(servers && {
      MONGO_URL: await through(name, 'mongo', servers.mongoUrl),
      MONGO_DATABASE: servers.databases[name] ?? '',
      AMQP_URL: await through(name, 'rabbitmq', servers.amqpUrl),
      REDIS_URL: await through(name, 'redis', servers.redisUrl),
    }),
    IDENTITY_URL: urlOf('identity'),
    CONFIGURATION_URL: await through(name, 'configuration', urlOf('configuration')),
    WEBHOOK_URL: urlOf('webhook'),
    DISPATCHER_URL: urlOf('dispatcher'),
    CAMPAIGNS_URL: urlOf('campaigns'),
    // It starts last; the dispatcher asks there whether statuses would get through.
    GATEWAY_URL: urlOf('webhook'),
    ...options.servers?.[name],
    ...environment.all,
    ...environment[name],
  })
  const start = async (name: ServiceName, own: Environment = {}) => {
    const environment = { ...(await environmentOf(name)), ...own }
    // It takes nothing in before a dispatcher has said where to.
    if (name === 'webhook')
      await declareTestLayoutAt(options.servers?.dispatcher.AMQP_URL ?? servers?.amqpUrl ?? '')
    const started = await START[name]({ keys, environment })
    running.unshift(started)
    return started
  }
  for (const name of START_SEQUENCE.filter((each) => services.includes(each))) first[name] = await start(name)
  return {
    keys,
    url: first.gateway?.url ?? '',
    services: first as Parley['services'],
    proxies: proxies as Parley['proxies'],
    database: (name) => {
      if (servers === undefined) throw new Error('the databases are not those of the test servers')
      return servers.client.db(servers.databases[name])
    },
    start,
    authorization: authorizations(keys),
    async close() {
      for (const one of running) await one.close()
      for (const proxy of Object.values(proxies)) await proxy.close()
      await servers?.release()
    },
  }
}

/** Signs anew every 20 s, as a gateway does: both sides would spend more on signatures than on most calls. */
function authorizations(keys: ServiceKeys): Parley['authorization'] {
  const signed = new Map<string, { authorization: string; at: number }>()
  return (issuer, audience, caller) => {
    const key = JSON.stringify([issuer, audience, caller])
    const known = signed.get(key)
    if (known !== undefined && Math.abs(Date.now() - known.at) < SIGNED_FOR_MS) return known.authorization
    const token = createInternalSigner(keys.own[issuer]).sign(caller ? { audience, caller } : { audience })
    const authorization = `Bearer ${token}`
    signed.set(key, { authorization, at: Date.now() })
    return authorization
  }
}

type Start = (options: { keys: ServiceKeys; environment: Environment }) => Promise<RunningService>

const START: Record<ServiceName, Start> = {
  identity: (own) => startService({ name: 'identity', config: identityConfig, build: buildIdentity, ...own }),
  configuration: (own) =>
    startService({ name: 'configuration', config: configurationConfig, build: buildConfiguration, ...own }),
  webhook: (own) => startService({ name: 'webhook', config: webhookConfig, build: buildWebhook, ...own }),
  dispatcher: (own) =>
    startService({
      name: 'dispatcher',
      config: dispatcherConfig,
      build: (config, log) => buildDispatcher(config, log, TEST_TIMES),
      ...own,
    }),
  campaigns: (own) =>
    startService({
      name: 'campaigns',
      config: campaignsConfig,
      build: (config, log) => buildCampaigns(config, log, TEST_CAMPAIGN_TIMES),
      ...own,
    }),
  gateway: (own) => startService({ name: 'gateway', config: gatewayConfig, build: buildGateway, ...own }),
}

/** The environment of a service beside servers and the others. Several instances share it. */
const OWN: Record<ServiceName, Environment> = {
  identity: {
    PEPPERS: namedSecret('p1'),
    KEY_ENCRYPTION_KEYS: namedSecret('k1'),
    BASE_DOMAIN: 'parley.test',
    BCRYPT_COST: '4',
  },
  configuration: {},
  webhook: {},
  dispatcher: {
    SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'),
    PARTITIONS: `${TEST_LAYOUT.partitions}`,
  },
  campaigns: {},
  gateway: {},
}

const USE_BROKER: readonly ServiceName[] = ['configuration', 'webhook', 'dispatcher', 'campaigns']

async function serversFor(services: ServiceName[]) {
  const servers = await testServers()
  const { mongoUrl, redisUrl } = servers
  // Every file that asks for one gets a virtual host of its own, and there are only so many.
  const amqpUrl = services.some((name) => USE_BROKER.includes(name)) ? servers.amqpUrl : ''
  const databases: Partial<Record<ServiceName, string>> = {}
  for (const name of services) if (name !== 'gateway') databases[name] = freshDatabase(name)
  const client = await mongo.MongoClient.connect(mongoUrl)
  const release = async () => {
    await Promise.all(Object.values(databases).map((name) => releaseDatabase(client.db(name))))
    await client.close()
  }
  return { mongoUrl, redisUrl, amqpUrl, databases, client, release }
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

function behind(url: string, { port }: TcpProxy): string {
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String(port)
  if (proxied.protocol === 'mongodb:') {
    // Else the driver would find the server's own address, and go there.
    proxied.searchParams.delete('replicaSet')
    proxied.searchParams.set('directConnection', 'true')
  }
  return proxied.href
}

/** Registers a workspace and answers with its admin, as the gateway tells the services who calls. */
export async function registerCaller(
  { services }: Pick<Parley, 'services'>,
  { email = 'ana@example.com', namespace = 'acme' } = {},
): Promise<Caller> {
  const registration = {
    ...{ name: 'Ana', email, phone: '1', namespace },
    password: 'correct horse battery staple',
  }
  const { json } = await sendJson(`${services.identity.url}/api/auth/register`, 'POST', {
    body: registration,
  })
  const { _id, workspace, role } = json
  return {
    account: { _id, username: email, name: 'Ana', profile: 1, context: {} },
    workspace,
    role: { _id: role, name: 'WORKSPACE_ADMIN', version: 1 },
  }
}
