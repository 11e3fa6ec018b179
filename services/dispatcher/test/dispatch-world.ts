import { randomUUID } from 'node:crypto'
import { type JsonRequest, sendJson } from '@parley/local/testing/send-json'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { registerCaller, startParley } from '@parley/local/testing/start-parley'
import type { TcpProxy } from '@parley/local/testing/tcp-proxy'
import { declareTestLayout } from '@parley/local/testing/test-layout'
import { testServers } from '@parley/local/testing/test-servers'
import type { DocumentReplica } from '@parley/shared/config-replica/replica-store'
import type { ServiceName } from '@parley/shared/internal-token'
import { createLog } from '@parley/shared/log'
import type { WebhookMessage } from '@parley/shared/message'
import { connectBroker } from '@parley/shared/messaging/connection'
import { messagePublication } from '@parley/shared/messaging/message-publication'
import { createPublisher, type Publisher } from '@parley/shared/messaging/publisher'
import type { PermissionEntry } from '@parley/shared/permission/entry'
import type { mongo } from 'mongoose'

export interface SeenMessage {
  _id: string
  receivedAt: string
  channelId?: number
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
  /** The user as whom it is called. */
  account: { _id: number; name: string }
  amqpUrl: string
  publisher: Publisher
  /** The paths that the dispatcher has asked configuration for. */
  asked(): string[]
  /** While it is open, gateway and webhook report that the provider's statuses would reach us. */
  statusPath: { open: boolean }
  database: mongo.Db
  /** Starts a further instance of the dispatcher. */
  startDispatcher(): Promise<Listening>
  /** In front of configuration, for the dispatcher. */
  configuration: TcpProxy
  /** Puts a document of a resource, as a caller would. */
  put(
    resource: string,
    id: number,
    body: Record<string, unknown>,
    options?: { workspace?: number },
  ): Promise<void>
  putChannel(id: number, body: Record<string, unknown>, options?: { workspace?: number }): Promise<void>
  /** Returns a metric of the first dispatcher, by its labels' values. */
  metric(name: string): Promise<Map<string, number>>
  /** Reads a document, as a caller would. */
  read(resource: string, id: number): Promise<Parsed>
  remove(resource: string, id: number): Promise<void>
  /** Waits until the dispatcher has its own replica of a document, in this version or a later one. */
  replicated(resource: string, id: number, version?: number): Promise<DocumentReplica>
  post(
    messageId: string,
    message: WebhookMessage,
    options?: { workspace?: number; source?: 'api' | 'meta'; channelId?: number; left?: string[] },
  ): Promise<void>
  get(path: string, options?: { workspace?: number }): Promise<{ status: number; json: unknown }>
  /** GETs from the dispatcher whatever it answers. */
  bytes(
    path: string,
    options?: { workspace?: number },
  ): Promise<{ status: number; headers: Headers; bytes: Buffer }>
  /** Opens an event stream at the first dispatcher, or at another one. */
  stream(
    path: string,
    options?: { workspace?: number; url?: string; lastEventId?: string; signal?: AbortSignal },
  ): Promise<Response>
  /** The headers of the caller in a further role. */
  inRole(permissions: readonly PermissionEntry[]): Promise<Record<string, string>>
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; json: unknown }>
  /** Waits until the message is in one of the states. */
  message(id: string, ...states: string[]): Promise<SeenMessage>
  close(): Promise<void>
}

export async function startDispatchWorld(environment: Record<string, string> = {}): Promise<DispatchWorld> {
  const { amqpUrl } = await testServers()
  const statusPath = { open: true }
  const edge = await listen((_req, res) => void res.writeHead(statusPath.open ? 200 : 503).end('{}'))
  const parley = await startParley({
    services: ['identity', 'configuration', 'dispatcher'],
    proxies: { dispatcher: ['configuration'] },
    environment: {
      dispatcher: {
        GATEWAY_URL: edge.url,
        WEBHOOK_URL: edge.url,
        UNCERTAIN_WINDOW_SECONDS: '1',
        ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8',
        ...environment,
      },
    },
  })
  const { configuration, dispatcher: first } = parley.services
  const database = parley.database('dispatcher')
  const silent = createLog({ service: 'test', level: 'silent' })
  const broker = await connectBroker({ url: amqpUrl, declare: declareTestLayout, log: silent })
  const publisher = createPublisher({ broker, log: silent })
  await eventually(() => publisher.isUp())
  const caller = await registerCaller(parley)
  const as = (audience: ServiceName, workspace = caller.workspace._id) => {
    const own = { ...caller, workspace: { ...caller.workspace, _id: workspace } }
    return { authorization: parley.authorization('gateway', audience, own) }
  }
  /** Asks configuration as a caller would. */
  const configure = async (
    method: string,
    path: string,
    { workspace, body }: { workspace?: number | undefined; body?: unknown } = {},
  ) => {
    const headers = as('configuration', workspace)
    const { status, text, json } = await sendJson(`${configuration.url}/rest/${path}`, method, {
      headers,
      body,
    })
    if (status >= 400) throw new Error(`${method} ${path} failed: ${text}`)
    return json
  }
  const ask = async (method: string, path: string, request: JsonRequest) => {
    const { status, json } = await sendJson(first.url + path, method, request)
    return { status, json }
  }
  const world: DispatchWorld = {
    workspace: caller.workspace._id,
    account: caller.account,
    amqpUrl,
    publisher,
    asked: () => configuration.requests.filter((path) => path.startsWith('/internal/')),
    statusPath,
    database,
    startDispatcher: () => parley.start('dispatcher'),
    configuration: parley.proxies.configuration,
    async put(resource, id, body, { workspace } = {}) {
      await configure('PUT', `${resource}/${id}`, { workspace, body })
    },
    putChannel: (id, body, options) => world.put('channels', id, body, options),
    async metric(name) {
      const values = (await first.registry.getSingleMetric(name)?.get())?.values ?? []
      return new Map(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
    },
    read: (resource, id) => configure('GET', `${resource}/${id}`),
    async remove(resource, id) {
      await configure('DELETE', `${resource}/${id}?force=true`)
    },
    replicated: (resource, id, version = 1) =>
      eventually(async () => {
        const _id = `${resource}/${caller.workspace._id}/${id}`
        const replicas = database.collection<DocumentReplica>('configured')
        return (await replicas.findOne({ _id, version: { $gte: version } })) ?? undefined
      }),
    post: (messageId, message, options = {}) => {
      const provenance = {
        workspace: options.workspace ?? caller.workspace._id,
        source: options.source ?? 'api',
        channelId: options.channelId,
        requestId: `request-${messageId}`,
        traceparent: undefined,
      } as const
      const body = Buffer.from(JSON.stringify(message))
      return publisher.publish(
        messagePublication({ messageId, message, body, provenance, left: options.left }),
      )
    },
    get: (path, { workspace } = {}) => ask('GET', path, { headers: as('dispatcher', workspace) }),
    async bytes(path, options = {}) {
      const answer = await fetch(first.url + path, { headers: as('dispatcher', options.workspace) })
      const { status, headers } = answer
      return { status, headers, bytes: Buffer.from(await answer.arrayBuffer()) }
    },
    stream: (path, { workspace, url = first.url, lastEventId, signal } = {}) =>
      fetch(url + path, {
        headers: {
          ...as('dispatcher', workspace),
          ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        },
        ...(signal && { signal }),
      }),
    async inRole(permissions) {
      const name = randomUUID().toUpperCase()
      const { json } = await sendJson(`${parley.services.identity.url}/rest/roles`, 'POST', {
        headers: as('identity'),
        body: { name, permissions },
      })
      const other = { ...caller, role: { _id: json._id, name, version: 1 } }
      return { authorization: parley.authorization('gateway', 'dispatcher', other) }
    },
    call: (method, path, body, headers = {}) =>
      ask(method, path, { headers: { ...as('dispatcher'), ...headers }, body }),
    message: (id, ...states) =>
      eventually(async () => {
        const { status, json } = await world.get(`/rest/messages/${id}`)
        const seen = json as SeenMessage
        return status === 200 && states.includes(seen.state) ? seen : undefined
      }),
    async close() {
      await publisher.close()
      await broker.close()
      await parley.close()
      await edge.close()
    },
  }
  return world
}
