import { randomUUID } from 'node:crypto'
import { sendJson } from '@parley/local/testing/send-json'
import type { Parsed, RunningService } from '@parley/local/testing/service-under-test'
import { registerCaller, startParley } from '@parley/local/testing/start-parley'
import type { TcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import type { Caller, ServiceName } from '@parley/shared/internal-token'
import { type ChannelModel, connect } from 'amqplib'
import type { mongo } from 'mongoose'
import { postOnce } from './post-once.ts'
import { startTaking, type Taken } from './take-queues.ts'

/** Milliseconds that starting or stopping three services may take on a busy machine. */
export const START_MS = 120_000

interface HttpResponse {
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
  database: mongo.Db
  /** Another instance of the webhook service on the same servers; closed with the world. */
  startInstance(environment?: Record<string, string>): Promise<RunningService>
  /** The gateway in front of all this; closed with the world. */
  startGateway(environment?: Record<string, string>): Promise<RunningService>
  /** In front of configuration, for the webhook service and the gateway. */
  configuration: TcpProxy
  /** The headers of a request that the gateway makes for the caller. */
  as(audience: ServiceName, caller?: Caller): Record<string, string>
  /** The headers of a request that a service makes for itself. */
  asService(issuer: ServiceName): Record<string, string>
  post(
    body: unknown,
    options?: { key?: string; as?: Caller; headers?: Record<string, string>; url?: string },
  ): Promise<HttpResponse>
  putChannel(id: number, body: object): Promise<void>
  deleteChannel(id: number): Promise<void>
  /** The caller in a role of its own, with these permissions. */
  inRole(permissions: object[]): Promise<Caller>
  /** Takes everything published so far. */
  drain(): Promise<Taken[]>
  close(): Promise<void>
}

/** Identity, configuration and the webhook service on the test servers, which can be cut off from it. */
export async function startIntakeWorld(environment: Record<string, string> = {}): Promise<IntakeWorld> {
  const parley = await startParley({
    services: ['identity', 'configuration', 'webhook'],
    proxies: {
      webhook: ['mongo', 'rabbitmq', 'redis', 'configuration'],
      gateway: ['redis', 'configuration'],
    },
    environment: { webhook: environment },
  })
  const { webhook, identity } = parley.services
  const caller = await registerCaller(parley)
  const connection = await connect((await testServers()).amqpUrl)
  const taking = await startTaking(connection)
  /** Asks a service as the caller would. */
  const ask = async (service: 'configuration' | 'identity', method: string, path: string, body?: object) => {
    const headers = { authorization: parley.authorization('gateway', service, caller) }
    const { status, text, json } = await sendJson(`${parley.services[service].url}/rest/${path}`, method, {
      headers,
      body,
    })
    if (status >= 400) throw new Error(`${method} ${path} failed: ${text}`)
    return json
  }
  return {
    caller,
    slug: caller.workspace.host.split('.')[0] ?? '',
    url: webhook.url,
    identityUrl: identity.url,
    ...{
      broker: parley.proxies.rabbitmq,
      redis: parley.proxies.redis,
      mongo: parley.proxies.mongo,
      connection,
    },
    startInstance: (own) => parley.start('webhook', own),
    startGateway: (own) => parley.start('gateway', own),
    database: parley.database('webhook'),
    configuration: parley.proxies.configuration,
    as: (audience, as = caller) => ({ authorization: parley.authorization('gateway', audience, as) }),
    asService: (issuer) => ({ authorization: parley.authorization(issuer, 'webhook') }),
    async post(body, { key, as = caller, headers, url = webhook.url } = {}) {
      const answer = await postOnce(`${url}/api/hooks/whatsapp`, {
        headers: {
          authorization: parley.authorization('gateway', 'webhook', as),
          'content-type': 'application/json',
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...headers,
        },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      })
      return { ...answer, json: JSON.parse(answer.text) }
    },
    async inRole(permissions) {
      const { _id, name } = await ask('identity', 'POST', 'roles', {
        name: `ROLE_${randomUUID()}`,
        permissions,
      })
      return { ...caller, role: { _id, name, version: 1 } }
    },
    putChannel: (id, body) => ask('configuration', 'PUT', `channels/${id}`, body),
    deleteChannel: (id) => ask('configuration', 'DELETE', `channels/${id}`),
    drain: taking.drain,
    async close() {
      await connection.close()
      await parley.close()
    },
  }
}
