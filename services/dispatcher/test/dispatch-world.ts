import { buildApp as buildConfiguration } from '@parley/configuration/app'
import { config as configurationConfig } from '@parley/configuration/config'
import { buildApp as buildIdentity } from '@parley/identity/app'
import { identityConfig } from '@parley/identity/config'
import {
  eventually,
  type Listening,
  listen,
  makeServiceKeys,
  namedSecret,
  type Parsed,
  startService,
} from '@parley/local/testing/service-under-test'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import type { DocumentReplica } from '@parley/shared/config-replica/replica-store'
import { type Caller, createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import { createLog } from '@parley/shared/log'
import type { WebhookMessage } from '@parley/shared/message'
import { connectBroker } from '@parley/shared/messaging/connection'
import { createPublisher, type Publisher } from '@parley/shared/messaging/publisher'
import { declareTopology } from '@parley/shared/messaging/topology'
import { messagePublication } from '@parley/webhook/publication'
import mongoose from 'mongoose'
import { buildApp } from '../src/app.ts'
import { config } from '../src/config.ts'

export interface SeenMessage {
  _id: string
  state: string
  thread: string
  reason?: string
  fault?: string
  due?: string
  waitingFor?: string
  message: WebhookMessage
  answer?: { message?: string }
  submit?: { id: string; state: string }
  timeline: Array<{ state: string; at: string }>
  sends: Array<{
    id: string
    state: string
    providerId?: string
    content: { kind: string; text?: string; name?: string }
  }>
  attempts: Array<{ step: string; outcome: string; code?: string }>
}

/** Real identity, configuration and dispatcher, in this process, on real servers, with one workspace. */
export interface DispatchWorld {
  workspace: number
  amqpUrl: string
  publisher: Publisher
  /** The paths that the dispatcher has asked configuration for. */
  asked: string[]
  /** Whether gateway and webhook say that the provider's news would get through. */
  statusPath: { open: boolean }
  database: mongoose.mongo.Db
  /** Starts a further instance of the dispatcher. */
  startDispatcher(): Promise<Listening>
  /** Stops the configuration service, or starts it again at the same address. */
  configuration: { stop(): Promise<void>; start(): Promise<void> }
  /** Puts a document of a resource, as a caller would. */
  put(
    resource: string,
    id: number,
    body: Record<string, unknown>,
    options?: { workspace?: number },
  ): Promise<void>
  putChannel(id: number, body: Record<string, unknown>, options?: { workspace?: number }): Promise<void>
  /** What the first dispatcher's metric says, by its labels' values. */
  metric(name: string): Promise<Map<string, number>>
  /** Reads a document, as a caller would. */
  read(resource: string, id: number): Promise<Parsed>
  remove(resource: string, id: number): Promise<void>
  /** Waits until the dispatcher has its own replica of a document, in this version or a later one. */
  replicated(resource: string, id: number, version?: number): Promise<DocumentReplica>
  post(
    messageId: string,
    message: WebhookMessage,
    options?: { workspace?: number; source?: 'api' | 'meta' },
  ): Promise<void>
  get(path: string, options?: { workspace?: number }): Promise<{ status: number; json: unknown }>
  /** GETs from the dispatcher whatever it answers. */
  bytes(
    path: string,
    options?: { workspace?: number },
  ): Promise<{ status: number; headers: Headers; bytes: Buffer }>
  call(method: string, path: string, body?: unknown): Promise<{ status: number; json: unknown }>
  /** Waits until the message is in one of the states. */
  message(id: string, ...states: string[]): Promise<SeenMessage>
  close(): Promise<void>
}

export async function startDispatchWorld(environment: Record<string, string> = {}): Promise<DispatchWorld> {
  const servers = await testServers()
  const keys = makeServiceKeys()
  const { mongoUrl, amqpUrl } = servers
  const databases = { identity: freshDatabase('identity'), configuration: freshDatabase('configuration') }
  const database = freshDatabase('dispatcher')
  const identity = await startService({
    name: 'identity',
    config: identityConfig,
    build: buildIdentity,
    keys,
    environment: {
      MONGO_URL: mongoUrl,
      MONGO_DATABASE: databases.identity,
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
        MONGO_URL: mongoUrl,
        MONGO_DATABASE: databases.configuration,
        IDENTITY_URL: identity.url,
        AMQP_URL: amqpUrl,
      },
    })
  let configuration: Listening | undefined = await startConfiguration()
  // The dispatcher keeps one address for configuration, whatever port its restarted app is at.
  const asked: string[] = []
  const front = await listen((req, res) => {
    asked.push(req.url ?? '')
    if (configuration === undefined) return void req.socket.destroy()
    const headers = { authorization: req.headers.authorization ?? '' }
    fetch(configuration.url + req.url, { headers }).then(
      async (answer) => {
        res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
        res.end(await answer.text())
      },
      () => res.destroy(),
    )
  })
  const statusPath = { open: true }
  const edge = await listen((_req, res) => void res.writeHead(statusPath.open ? 200 : 503).end())
  const dispatchers: Listening[] = []
  const startDispatcher = async () => {
    const started = await startService({
      name: 'dispatcher',
      config,
      build: buildApp,
      keys,
      environment: {
        MONGO_URL: mongoUrl,
        MONGO_DATABASE: database,
        AMQP_URL: amqpUrl,
        REDIS_URL: servers.redisUrl,
        GATEWAY_URL: edge.url,
        WEBHOOK_URL: edge.url,
        IDENTITY_URL: identity.url,
        CONFIGURATION_URL: front.url,
        SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'),
        UNCERTAIN_WINDOW_SECONDS: '1',
        ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8',
        ...environment,
      },
    })
    dispatchers.push(started)
    return started
  }
  const first = await startDispatcher()
  const silent = createLog({ service: 'test', level: 'silent' })
  const broker = await connectBroker({ url: amqpUrl, declare: declareTopology, log: silent })
  const publisher = createPublisher({ broker, log: silent })
  await eventually(async () => ((await publisher.isUp()) ? true : undefined))
  const caller = await register(identity.url)
  const gateway = createInternalSigner(keys.own.gateway)
  const as = (audience: ServiceName, workspace = caller.workspace._id) => {
    const own = { ...caller, workspace: { ...caller.workspace, _id: workspace } }
    return {
      authorization: `Bearer ${gateway.sign({ audience, caller: own })}`,
      'content-type': 'application/json',
    }
  }
  const client = new mongoose.mongo.MongoClient(mongoUrl)
  const world: DispatchWorld = {
    workspace: caller.workspace._id,
    amqpUrl,
    publisher,
    asked,
    statusPath,
    database: client.db(database),
    startDispatcher,
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
    async put(resource, id, body, options = {}) {
      const url = `${configuration?.url}/rest/${resource}/${id}`
      const put = {
        method: 'PUT',
        headers: as('configuration', options.workspace),
        body: JSON.stringify(body),
      }
      const answer = await fetch(url, put)
      if (!answer.ok) throw new Error(`${resource} not put: ${await answer.text()}`)
    },
    putChannel: (id, body, options) => world.put('channels', id, body, options),
    async metric(name) {
      const values = (await first.registry.getSingleMetric(name)?.get())?.values ?? []
      return new Map(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
    },
    async read(resource, id) {
      const url = `${configuration?.url}/rest/${resource}/${id}`
      return (await fetch(url, { headers: as('configuration') })).json()
    },
    async remove(resource, id) {
      const url = `${configuration?.url}/rest/${resource}/${id}?force=true`
      const answer = await fetch(url, { method: 'DELETE', headers: as('configuration') })
      if (!answer.ok) throw new Error(`${resource} not deleted: ${await answer.text()}`)
    },
    replicated: (resource, id, version = 1) =>
      eventually(async () => {
        const _id = `${resource}/${caller.workspace._id}/${id}`
        const replicas = client.db(database).collection<DocumentReplica>('configured')
        return (await replicas.findOne({ _id, version: { $gte: version } })) ?? undefined
      }),
    post: (messageId, message, options = {}) => {
      const provenance = {
        workspace: options.workspace ?? caller.workspace._id,
        source: options.source ?? 'api',
        channelId: undefined,
        requestId: `request-${messageId}`,
        traceparent: undefined,
      } as const
      const body = Buffer.from(JSON.stringify(message))
      return publisher.publish(messagePublication({ messageId, message, body, provenance }))
    },
    async get(path, options = {}) {
      const answer = await fetch(first.url + path, { headers: as('dispatcher', options.workspace) })
      return { status: answer.status, json: await answer.json() }
    },
    async bytes(path, options = {}) {
      const answer = await fetch(first.url + path, { headers: as('dispatcher', options.workspace) })
      const { status, headers } = answer
      return { status, headers, bytes: Buffer.from(await answer.arrayBuffer()) }
    },
    async call(method, path, body) {
      const payload = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await fetch(first.url + path, { method, headers: as('dispatcher'), ...payload })
      return { status: answer.status, json: await answer.json() }
    },
    message: (id, ...states) =>
      eventually(async () => {
        const { status, json } = await world.get(`/rest/messages/${id}`)
        const seen = json as SeenMessage
        return status === 200 && states.includes(seen.state) ? seen : undefined
      }),
    async close() {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.close()))
      await publisher.close()
      await broker.close()
      await front.close()
      await edge.close()
      await configuration?.close()
      await identity.close()
      for (const name of [database, ...Object.values(databases)]) await client.db(name).dropDatabase()
      await client.close()
    },
  }
  return world
}

async function register(identityUrl: string): Promise<Caller> {
  const answer = await fetch(`${identityUrl}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Ana',
      email: 'ana@example.com',
      phone: '1',
      password: 'correct horse battery staple',
      namespace: 'acme',
    }),
  })
  const { _id, account, workspace, role } = (await answer.json()) as {
    _id: number
    account: Omit<Caller['account'], '_id'>
    workspace: Caller['workspace']
    role: number
  }
  const { username, name, profile, context } = account
  return {
    account: { _id, username, name, profile, context },
    workspace,
    role: { _id: role, name: 'WORKSPACE_ADMIN', version: 1 },
  }
}
