import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildApp as buildIdentity } from '@parley/identity/app'
import { identityConfig } from '@parley/identity/config'
import {
  eventually,
  type Listening,
  makeServiceKeys,
  namedSecret,
  startService,
  untilReady,
} from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import {
  LOG_QUEUE,
  MESSAGES_EXCHANGE,
  PARTITIONS,
  partitionKey,
  partitionOf,
  partitionQueue,
} from '@parley/shared/broker'
import { type Caller, createInternalSigner } from '@parley/shared/internal-token'
import { type Channel, type ChannelModel, type ConsumeMessage, connect } from 'amqplib'
import mongoose from 'mongoose'
import { buildApp } from '../src/app.ts'
import { config } from '../src/config.ts'

const keys = makeServiceKeys()
const message = {
  extId: 'support-line',
  user: { name: 'João', phone: '+5511988887777', ctx: { nested: { a: [1, null, 'é'] } } },
  thread: { extId: 'thread-1', ctx: {} },
  answer: {
    message: 'Olá! 👋',
    functions: [{ name: 'callback', args: { template: 't', variables: ['x'], language: 'pt' } }],
  },
  unknown: { kept: true },
}

interface Taken {
  partition: number
  delivery: ConsumeMessage
}

let broker: TcpProxy
let redis: TcpProxy
let identity: Listening
let webhook: Listening
let caller: Caller
let provider: Caller
let connection: ChannelModel
let inspection: Channel
const taken: Taken[] = []
const database = freshDatabase('identity')

beforeAll(async () => {
  const servers = await testServers()
  broker = await startTcpProxy(addressOf(servers.amqpUrl))
  redis = await startTcpProxy(addressOf(servers.redisUrl))
  identity = await startService({
    name: 'identity',
    config: identityConfig,
    build: buildIdentity,
    keys,
    environment: {
      MONGO_URL: servers.mongoUrl,
      MONGO_DATABASE: database,
      PEPPERS: namedSecret('p1'),
      KEY_ENCRYPTION_KEYS: namedSecret('k1'),
      BASE_DOMAIN: 'parley.test',
      BCRYPT_COST: '4',
    },
  })
  webhook = await startService({
    name: 'webhook',
    config,
    build: buildApp,
    keys,
    environment: {
      AMQP_URL: through(servers.amqpUrl, broker),
      REDIS_URL: through(servers.redisUrl, redis),
      IDENTITY_URL: identity.url,
    },
  })
  caller = await register()
  provider = { ...caller, role: { _id: caller.role._id + 2, name: 'VIEWER', version: 1 } }
  connection = await connect(servers.amqpUrl)
  inspection = await connection.createChannel()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const take = (delivery: ConsumeMessage | null) => {
      if (delivery !== null) taken.push({ partition, delivery })
    }
    await inspection.consume(partitionQueue(partition), take, { noAck: true })
  }
})
afterAll(async () => {
  await connection.close()
  await webhook.close()
  await identity.close()
  await broker.close()
  await redis.close()
  const client = await mongoose.mongo.MongoClient.connect((await testServers()).mongoUrl)
  await client.db(database).dropDatabase()
  await client.close()
})

function addressOf(url: string) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

function through(url: string, { port }: TcpProxy): string {
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String(port)
  return proxied.href
}

async function register(): Promise<Caller> {
  const answer = await fetch(`${identity.url}/api/auth/register`, {
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

async function post(
  body: unknown,
  options: { key?: string; as?: Caller; headers?: Record<string, string> } = {},
) {
  const token = createInternalSigner(keys.own.gateway).sign({
    audience: 'webhook',
    caller: options.as ?? caller,
  })
  const answer = await fetch(`${webhook.url}/api/hooks/whatsapp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(options.key === undefined ? {} : { 'idempotency-key': options.key }),
      ...options.headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) }
}

/** Takes everything published so far: a marker in every partition says that it has all come. */
async function drain(): Promise<Taken[]> {
  const marker = `marker-${randomUUID()}`
  for (let partition = 0; partition < PARTITIONS; partition++) {
    inspection.publish(MESSAGES_EXCHANGE, partitionKey(partition), Buffer.from(''), { messageId: marker })
  }
  const isMarker = ({ delivery }: Taken) => delivery.properties.messageId === marker
  await eventually(() => (taken.filter(isMarker).length === PARTITIONS ? true : undefined))
  return taken.splice(0).filter((one) => !isMarker(one))
}

describe('POST /api/hooks/whatsapp', () => {
  test('echoes the message byte for byte and publishes it to the partition of its thread', async () => {
    await drain()
    const text = JSON.stringify(message)
    const answer = await post(text)
    expect([answer.status, answer.text]).toEqual([200, text])
    const [published, ...rest] = await drain()
    expect(rest).toEqual([])
    expect(published?.partition).toBe(partitionOf(caller.workspace._id, 'thread-1'))
    expect(published?.delivery.content.toString()).toBe(text)
    expect(published?.delivery.properties).toMatchObject({
      messageId: answer.headers.get('x-message-id'),
      type: 'message.received.v1',
      contentType: 'application/json',
      deliveryMode: 2,
      headers: {
        workspace: caller.workspace._id,
        channel: 'support-line',
        thread: 'thread-1',
        source: 'api',
      },
    })
  })

  test('two equal posts are two messages', async () => {
    await drain()
    const ids = [await post(message), await post(message)].map(({ headers }) => headers.get('x-message-id'))
    expect(new Set((await drain()).map(({ delivery }) => delivery.properties.messageId))).toEqual(
      new Set(ids),
    )
    expect(new Set(ids).size).toBe(2)
  })

  test.each([
    ['malformed JSON', '{"extId": ', 400, 'malformed_json'],
    ['no channel', { ...message, extId: undefined }, 422, 'validation_failed'],
    ['a user that is text', { ...message, user: 'x' }, 422, 'validation_failed'],
    ['more than 1 MiB', { ...message, input: 'x'.repeat(1024 * 1024) }, 413, 'body_too_large'],
    ['a lone surrogate', '{"extId":"\\ud800","user":{},"thread":{},"answer":{}}', 422, 'validation_failed'],
  ])('%s is refused, and nothing is published', async (_name, body, status, code) => {
    await drain()
    const answer = await post(body)
    expect([answer.status, answer.json.code]).toEqual([status, code])
    expect(await drain()).toEqual([])
  })

  test('a role that may not write messages is refused', async () => {
    expect((await post(message, { as: provider })).json.code).toBe('forbidden')
  })

  test('only POST is allowed, and only with an inner token', async () => {
    const wrong = await fetch(`${webhook.url}/api/hooks/whatsapp`)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
    const anonymous = await fetch(`${webhook.url}/api/hooks/whatsapp`, { method: 'POST' })
    expect(anonymous.status).toBe(401)
  })

  test('every message is in the log stream', async () => {
    const id = (await post(message)).headers.get('x-message-id')
    const seen: string[] = []
    const log = await connection.createChannel()
    await log.prefetch(100)
    await log.consume(
      LOG_QUEUE,
      (delivery) => {
        if (delivery === null) return
        seen.push(delivery.properties.messageId)
        log.ack(delivery)
      },
      { arguments: { 'x-stream-offset': 'first' } },
    )
    await eventually(() => seen.find((one) => one === id))
    await log.close()
  })
})

describe('an idempotency key', () => {
  test('makes a repeat the same message with the same answer', async () => {
    await drain()
    const first = await post(message, { key: 'k-repeat' })
    const second = await post(message, { key: 'k-repeat' })
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text])
    expect([first, second].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(second.headers.get('x-message-id')).toBe(first.headers.get('x-message-id'))
    expect(await drain()).toHaveLength(1)
  })

  test('used 200 times at once makes one message', async () => {
    await drain()
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(message, { key: 'k-burst' })))
    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].every((status) => status === 200 || status === 409)).toBe(true)
    expect(
      answers.filter(({ status }) => status === 409).every(({ headers }) => headers.has('retry-after')),
    ).toBe(true)
    expect(await drain()).toHaveLength(1)
  })

  test('with another body is refused', async () => {
    await post(message, { key: 'k-other' })
    expect((await post({ ...message, input: 'more' }, { key: 'k-other' })).json.code).toBe(
      'idempotency_key_reused',
    )
  })

  test('that is empty, too long or not ASCII is refused', async () => {
    for (const key of ['', 'x'.repeat(256), 'a b', 'é'])
      expect((await post(message, { key })).status).toBe(422)
  })

  test('is worth as much with Redis away: the same id, so the store knows the repeat', async () => {
    await drain()
    const first = await post(message, { key: 'k-away' })
    redis.cut()
    const second = await post(message, { key: 'k-away' })
    redis.mend()
    expect([second.status, second.headers.get('x-message-id')]).toEqual([
      200,
      first.headers.get('x-message-id'),
    ])
    const ids = (await drain()).map(({ delivery }) => delivery.properties.messageId)
    expect(new Set(ids).size).toBe(1)
    await untilReady(webhook.url)
  })
})

describe('with the broker away', () => {
  test('posts get 503 with Retry-After within 5 s, and 200 again when it is back', async () => {
    await drain()
    broker.cut()
    const started = performance.now()
    const answer = await post(message, { key: 'k-broker' })
    expect([answer.status, answer.json.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ])
    expect(performance.now() - started).toBeLessThan(5_000)
    expect((await fetch(`${webhook.url}/health/ready`)).status).toBe(503)
    broker.mend()
    await untilReady(webhook.url)
    expect((await post(message, { key: 'k-broker' })).status).toBe(200)
    expect(new Set((await drain()).map(({ delivery }) => delivery.properties.messageId)).size).toBe(1)
  })

  test('a message under way is answered, not left hanging', async () => {
    const posts = Array.from({ length: 50 }, () => post(message))
    broker.cut()
    const statuses = (await Promise.all(posts)).map(({ status }) => status)
    broker.mend()
    await untilReady(webhook.url)
    const confirmed = statuses.filter((status) => status === 200).length
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
    expect((await drain()).length).toBeGreaterThanOrEqual(confirmed)
  })
})
