import { buildApp as buildConfiguration } from '@parley/configuration/app'
import { config as configurationConfig } from '@parley/configuration/config'
import { buildApp as buildGateway } from '@parley/gateway/app'
import { gatewayConfig } from '@parley/gateway/config'
import { buildApp as buildIdentity } from '@parley/identity/app'
import { identityConfig } from '@parley/identity/config'
import {
  type Listening,
  makeServiceKeys,
  namedSecret,
  type Parsed,
  startService,
} from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { type Caller, createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import { type ChannelModel, connect } from 'amqplib'
import mongoose from 'mongoose'
import { buildApp } from '../src/app.ts'
import { config } from '../src/config.ts'
import { postOnce } from './post-once.ts'
import { startTaking, type Taken } from './take-queues.ts'

/** What starting or stopping three services may take on a busy machine. */
export const START_MS = 120_000

export interface Answer {
  status: number
  headers: Headers
  text: string
  json: Parsed
}

export interface IntakeWorld {
  caller: Caller
  slug: string
  url: string
  identityUrl: string
  broker: TcpProxy
  redis: TcpProxy
  mongo: TcpProxy
  connection: ChannelModel
  database: mongoose.mongo.Db
  /** Another copy of the webhook service on the same servers; closed with the world. */
  startCopy(environment?: Record<string, string>): Promise<Listening>
  /** The gateway in front of all this; closed with the world. */
  startGateway(environment?: Record<string, string>): Promise<Listening>
  configuration: { stop(): Promise<void>; start(): Promise<void> }
  /** The headers of a request that the gateway makes for the caller. */
  as(audience: ServiceName, caller?: Caller): Record<string, string>
  /** The headers of a request that a service makes for itself. */
  asService(issuer: ServiceName): Record<string, string>
  post(
    body: unknown,
    options?: { key?: string; as?: Caller; headers?: Record<string, string>; url?: string },
  ): Promise<Answer>
  putChannel(id: number, body: object): Promise<void>
  deleteChannel(id: number): Promise<void>
  /** Takes everything published so far. */
  drain(): Promise<Taken[]>
  close(): Promise<void>
}

/** Identity, configuration and the webhook service on the test servers, which can be cut off from it. */
export async function startIntakeWorld(environment: Record<string, string> = {}): Promise<IntakeWorld> {
  const servers = await testServers()
  const keys = makeServiceKeys()
  const databases = ['identity', 'configuration', 'webhook'].map(freshDatabase)
  const [identityDatabase = '', configurationDatabase = '', webhookDatabase = ''] = databases
  const [broker, redis, mongo] = await Promise.all(
    [servers.amqpUrl, servers.redisUrl, servers.mongoUrl].map((url) => startTcpProxy(addressOf(url))),
  )
  if (!broker || !redis || !mongo) throw new Error('no proxies')
  const identity = await startService({
    name: 'identity',
    config: identityConfig,
    build: buildIdentity,
    keys,
    environment: {
      MONGO_URL: servers.mongoUrl,
      MONGO_DATABASE: identityDatabase,
      PEPPERS: namedSecret('p1'),
      KEY_ENCRYPTION_KEYS: namedSecret('k1'),
      BASE_DOMAIN: 'parley.test',
      BCRYPT_COST: '4',
    },
  })
  const startConfiguration = () =>
    startService({
      name: 'configuration',
      config: configurationConfig,
      build: buildConfiguration,
      keys,
      environment: {
        MONGO_URL: servers.mongoUrl,
        MONGO_DATABASE: configurationDatabase,
        AMQP_URL: servers.amqpUrl,
        IDENTITY_URL: identity.url,
        KEY_ENCRYPTION_KEYS: namedSecret('k1'),
      },
    })
  let configuration: Listening | undefined = await startConfiguration()
  const front = await startFront(() => configuration?.url)
  const copies: Listening[] = []
  const startCopy = async (own: Record<string, string> = {}) => {
    const copy = await startService({
      name: 'webhook',
      config,
      build: buildApp,
      keys,
      environment: {
        MONGO_URL: through(servers.mongoUrl, mongo, { directConnection: 'true' }),
        MONGO_DATABASE: webhookDatabase,
        AMQP_URL: through(servers.amqpUrl, broker),
        REDIS_URL: through(servers.redisUrl, redis),
        IDENTITY_URL: identity.url,
        CONFIGURATION_URL: front.url,
        ...environment,
        ...own,
      },
    })
    copies.push(copy)
    return copy
  }
  const webhook = await startCopy()
  const startGateway = async (own: Record<string, string> = {}) => {
    const gateway = await startService({
      name: 'gateway',
      config: gatewayConfig,
      build: buildGateway,
      keys,
      environment: {
        IDENTITY_URL: identity.url,
        WEBHOOK_URL: webhook.url,
        CONFIGURATION_URL: front.url,
        // Only asked whether it is ready.
        DISPATCHER_URL: front.url,
        REDIS_URL: through(servers.redisUrl, redis),
        ...own,
      },
    })
    copies.unshift(gateway)
    return gateway
  }
  const caller = await register(identity.url)
  const client = await mongoose.mongo.MongoClient.connect(servers.mongoUrl)
  const connection = await connect(servers.amqpUrl)
  const taking = await startTaking(connection)
  const sign = (issuer: ServiceName, audience: ServiceName, as?: Caller) =>
    `Bearer ${createInternalSigner(keys.own[issuer]).sign(as ? { audience, caller: as } : { audience })}`
  const channelRequest = async (method: string, id: number, body?: object) => {
    const answer = await fetch(`${configuration?.url}/rest/channels/${id}`, {
      method,
      headers: {
        authorization: sign('gateway', 'configuration', caller),
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} of a channel failed: ${await answer.text()}`)
  }
  return {
    caller,
    slug: caller.workspace.host.split('.')[0] ?? '',
    url: webhook.url,
    identityUrl: identity.url,
    ...{ broker, redis, mongo, connection, startCopy, startGateway },
    database: client.db(webhookDatabase),
    configuration: {
      stop: async () => {
        const stopping = configuration
        configuration = undefined
        await stopping?.close()
      },
      start: async () => {
        configuration = await startConfiguration()
      },
    },
    as: (audience, as = caller) => ({ authorization: sign('gateway', audience, as) }),
    asService: (issuer) => ({ authorization: sign(issuer, 'webhook') }),
    async post(body, { key, as = caller, headers, url = webhook.url } = {}) {
      const answer = await postOnce(`${url}/api/hooks/whatsapp`, {
        headers: {
          authorization: sign('gateway', 'webhook', as),
          'content-type': 'application/json',
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...headers,
        },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      })
      return { ...answer, json: JSON.parse(answer.text) }
    },
    putChannel: (id, body) => channelRequest('PUT', id, body),
    deleteChannel: (id) => channelRequest('DELETE', id),
    drain: taking.drain,
    async close() {
      await connection.close()
      await Promise.all(copies.map((copy) => copy.close()))
      await Promise.all([front.close(), configuration?.close()])
      await identity.close()
      await Promise.all([broker.close(), redis.close(), mongo.close()])
      for (const name of databases) await client.db(name).dropDatabase()
      await client.close()
    },
  }
}

function addressOf(url: string) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

function through(url: string, { port }: TcpProxy, parameters: Record<string, string> = {}): string {
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String(port)
  if ('directConnection' in parameters) proxied.searchParams.delete('replicaSet')
  for (const [name, value] of Object.entries(parameters)) proxied.searchParams.set(name, value)
  return proxied.href
}

/** An address that stays the same while the service behind it is stopped and started again. */
async function startFront(target: () => string | undefined): Promise<Listening> {
  const { createServer, request } = await import('node:http')
  const server = createServer((req, res) => {
    const url = target()
    if (url === undefined) return void req.socket.destroy()
    const onward = request(
      new URL(req.url ?? '/', url),
      { method: req.method, headers: req.headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      },
    )
    onward.on('error', () => req.socket.destroy())
    req.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function register(identityUrl: string): Promise<Caller> {
  const answer = await fetch(`${identityUrl}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Ana',
      email: 'a@example.com',
      phone: '1',
      password: 'a long password',
      namespace: 'acme',
    }),
  })
  const { _id, workspace, role } = (await answer.json()) as {
    _id: number
    workspace: Caller['workspace']
    role: number
  }
  return {
    account: { _id, username: 'a@example.com', name: 'Ana', profile: 1, context: {} },
    workspace,
    role: { _id: role, name: 'WORKSPACE_ADMIN', version: 1 },
  }
}
