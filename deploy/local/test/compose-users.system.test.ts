import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createParley, type Parley as ParleyClient } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { createDeltas } from '@parley/dispatcher/agents/deltas'
import { createConfirmedIds } from '@parley/shared/idempotency'
import { createLog } from '@parley/shared/log'
import { slotKey } from '@parley/shared/messaging/layout'
import { connectRedis } from '@parley/shared/redis'
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib'
import { Redis } from 'ioredis'
import { mongo } from 'mongoose'
import { composeEnvironment, readComposeFile } from '../../docker/compose-environment.ts'
import { CHECKOUT } from '../src/checkout.ts'
import { makeSecrets } from '../src/system/secrets.ts'
import {
  freshPlace,
  type GuardedServer,
  startGuardedBroker,
  startGuardedMongod,
} from '../src/testing/guarded-servers.ts'
import { asked, type RedisNode, startRedisNode } from '../src/testing/redis-nodes.ts'
import { eventually, type Listening, listen } from '../src/testing/service-under-test.ts'
import { type Parley, type ParleyOptions, startParley } from '../src/testing/start-parley.ts'
import { freshDirectory } from '../src/testing/test-servers.ts'

const values = composeEnvironment(makeSecrets())
const compose = readComposeFile(values)
const UNAUTHORIZED = 13
const DANGEROUS: [string, ...string[]][] = [
  ['KEYS', '*'],
  ['SCAN', '0'],
  ['FLUSHALL'],
  ['CONFIG', 'GET', '*'],
  ['ACL', 'LIST'],
  ['CLIENT', 'LIST'],
  ['SCRIPT', 'FLUSH'],
  ['SHUTDOWN'],
]
const log = createLog({ service: 'test', level: 'silent' })

const DATABASES = ['identity', 'webhook', 'configuration', 'dispatcher', 'campaigns'] as const
const BROKER_USERS = ['webhook', 'configuration', 'dispatcher'] as const
/** A command that the user gives, and a key of its own. */
const REDIS_USERS = {
  gateway: ['incrby', 'rate:x', 1],
  identity: ['incrby', 'throttle:x', 1],
  webhook: ['set', 'idempotency:x', 1],
  dispatcher: ['set', 'pace:x', 1],
} as const

let mongod: GuardedServer
let broker: GuardedServer
let redis: RedisNode
let provider: Listening
let system: Parley
let parley: ParleyClient['api']
let registered: { accessToken: string; workspace: { _id: number } }
const sent: string[] = []

beforeAll(async () => {
  const { configs, services } = compose
  const account = { user: 'dispatcher', password: values.DISPATCHER_AMQP_PASSWORD ?? '' }
  const [, ...redisArguments] = services.redis?.command ?? []
  ;[mongod, broker, redis] = await Promise.all([
    startGuardedMongod(await freshPlace(), values.MONGO_KEY),
    startGuardedBroker({ definitions: configs['rabbitmq-definitions']?.content ?? '', account }),
    startRedisNode([...redisArguments, '--user', 'test', 'on', 'nopass', '~*', '+@all'], { account: TESTER }),
  ])
  // Compose runs it at every start.
  for (let times = 0; times < 2; times++) expect(prepareMongo(mongod)).toMatchObject({ status: 0 })
  provider = await listen((request, response) => {
    if (request.method === 'POST') sent.push(request.url ?? '')
    request
      .resume()
      .on('end', () => response.end(JSON.stringify({ messages: [{ id: `wamid.${sent.length}` }] })))
  })
  system = await startParley({ servers: serversOfServices() })
  const body = {
    name: 'Ana',
    email: 'ana@example.com',
    phone: '1',
    password: 'a long password',
    namespace: 'acme',
  }
  registered = await succeeded(createParley({ url: system.url }).api.POST('/api/auth/register', { body }))
  parley = createParley({ url: system.url, token: registered.accessToken }).api
})

afterAll(async () => {
  await system?.close()
  await provider?.close()
  await Promise.all([mongod, broker, redis].map((server) => server?.stop()))
})

const TESTER = { username: 'test', password: 'none' }

/** Runs what Compose runs, with what Compose gives it. */
function prepareMongo(server: GuardedServer, more: Record<string, string> = {}) {
  const { environment = {} } = compose.services['mongo-replica-set'] ?? {}
  const place = { MONGO_URL: server.url, MEMBER: `127.0.0.1:${server.port}` }
  return runPrepareMongo({ ...environment, ...place, ...more })
}

function runPrepareMongo(env: Record<string, string>) {
  const { command = [] } = compose.services['mongo-replica-set'] ?? {}
  return spawnSync(process.execPath, command, { cwd: CHECKOUT, encoding: 'utf8', env })
}

/** A URL as Compose gives it to a service, leading to the server that stands in for its host. */
function urlOf(service: string, name: 'MONGO_URL' | 'AMQP_URL' | 'REDIS_URL'): string {
  const ports = { MONGO_URL: mongod.port, AMQP_URL: broker.port, REDIS_URL: redis.port }
  const url = compose.services[service]?.environment[name] ?? ''
  return url.replace(/@(mongo|rabbitmq|redis):\d+/, `@127.0.0.1:${ports[name]}`)
}

function serversOfServices(): NonNullable<ParleyOptions['servers']> {
  const named = (service: string) =>
    Object.fromEntries(
      (['MONGO_URL', 'AMQP_URL', 'REDIS_URL'] as const)
        .filter((name) => compose.services[service]?.environment[name] !== undefined)
        .map((name) => [name, urlOf(service, name)]),
    )
  return {
    gateway: named('gateway'),
    identity: named('identity'),
    webhook: named('webhook'),
    configuration: named('configuration'),
    dispatcher: { ...named('dispatcher'), ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' },
    campaigns: named('campaigns'),
  }
}

const at = (id: number) => ({ path: { id } })

async function putChannel(phoneNumberId: string): Promise<void> {
  const body = {
    ...({ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' } as const),
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId, accessToken: 'secret', apiUrl: `${provider.url}/v23.0`, assistantId: 1 },
  }
  await succeeded(parley.PUT('/rest/channels/{id}', { params: at(1), body }))
}

/** How many messages were posted, repeats not counted. */
let accepted = 0

async function post(answer: Record<string, unknown>, key: string): Promise<Response> {
  const thread = { extId: 'thread' }
  const body = { extId: 'line', user: { name: 'João', phone: '5511988887777' }, thread, answer }
  const params = { header: { 'Idempotency-Key': key } }
  const { response } = await parley.POST('/api/hooks/whatsapp', { body, params })
  expect(response.status).toBe(200)
  if (response.headers.get('idempotent-replayed') === null) accepted++
  return response
}

describe('with the users that Compose gives them', () => {
  test('the services send a message, recognise its repeat, and follow a change of its channel', async () => {
    await putChannel('1001')
    await post({ message: 'one' }, 'first')
    await eventually(() => sent.at(-1)?.includes('/1001/') || undefined)
    expect((await post({ message: 'one' }, 'first')).headers.get('idempotent-replayed')).toBe('true')
    await putChannel('1002')
    await eventually(async () => {
      const { data = [] } = (await parley.GET('/rest/channels/{id}/history', { params: at(1) })).data ?? {}
      return data.length === 2
    })
    // The dispatcher may not have heard of it yet.
    let posted = 1
    while (!sent.at(-1)?.includes('/1002/')) {
      await post({ message: 'two' }, `after-${posted++}`)
      await eventually(() => sent.length === posted)
    }
  })

  test('the submit of an answer reaches its task', async () => {
    const step = { name: 'Name', description: '', instructions: '', submitWhen: 'it is known' }
    await succeeded(parley.PUT('/rest/steps/{id}', { params: at(1), body: step }))
    const workflow = { name: 'Onboarding', description: 'One step', steps: [1], firstStep: 1 }
    await succeeded(parley.PUT('/rest/workflows/{id}', { params: at(1), body: workflow }))
    const job = { role: 'Guide', goal: 'Onboard', description: '', defaultWorkflow: 1 }
    await succeeded(parley.PUT('/rest/jobs/{id}', { params: at(1), body: job }))
    const assistant = { name: 'Ana', description: '', backstory: '', job: 1 }
    await succeeded(parley.PUT('/rest/assistant/{id}', { params: at(1), body: assistant }))
    await post({ submit: { name: 'João' } }, 'third')
    await eventually(async () => {
      const { data } = await succeeded(parley.GET('/rest/tasks', { params: { query: { extId: 'thread' } } }))
      return data.some(({ status }) => status === 'completed')
    })
  })

  test('the dispatcher and configuration dead-letter what they can not process, and the reconciliation difference is 0', async () => {
    await asBrokerUser('dispatcher', async (channel) => {
      channel.publish('messages', slotKey(0), Buffer.from('?'), { messageId: 'unusable', type: 'unknown.v9' })
      channel.publish('submissions', '', Buffer.from('?'), { messageId: 'unusable', type: 'unknown.v9' })
      await channel.waitForConfirms()
      await eventually(async () => (await channel.checkQueue('messages.rejected')).messageCount === 2)
    })
    await eventually(async () => {
      const { data } = await parley.GET('/rest/messages/conservation')
      return data?.accepted === accepted && data.difference === 0
    })
  })

  test('the webhook recognises a repeat of Meta’s', async () => {
    const client = connectRedis(urlOf('webhook', 'REDIS_URL'), log)
    await eventually(() => client.status === 'ready')
    const confirmed = createConfirmedIds(client, log)
    await confirmed.add(['a'])
    expect(await confirmed.among(['a', 'b'])).toEqual(new Set(['a']))
    client.disconnect()
  })

  test('a reply with a key is recognised when it comes again', async () => {
    const path = { id: 'thread' }
    const params = { path, header: { 'Idempotency-Key': 'fourth' } }
    const reply = (text: string) => parley.POST('/rest/threads/{id}/messages', { params, body: { text } })
    const [first, again] = [await reply('Hello'), await reply('Hello')]
    expect([first.response.status, again.response.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect((await reply('Good morning')).response.status).toBe(422)
  })

  test('what a model says goes through Redis to the readers of its thread', async () => {
    const headers = { authorization: `Bearer ${registered.accessToken}` }
    const response = await fetch(`${system.url}/rest/threads/thread/events`, { headers })
    const reader = response.body?.pipeThrough(new TextDecoderStream() as never).getReader()
    const client = connectRedis(urlOf('dispatcher', 'REDIS_URL'), log)
    await eventually(() => client.status === 'ready')
    const said = createDeltas({ redis: client, database: 'dispatcher' }).begin({
      ...{ workspace: registered.workspace._id, message: 'm', channel: 'line', thread: 'thread', turn: 1 },
    })
    said.push('Hel')
    await said.end()
    let seen = ''
    while (!seen.includes('event: delta')) seen += (await reader?.read())?.value
    expect(seen).toContain('"text":"Hel"')
    await reader?.cancel()
    client.disconnect()
  })

  test('every key has an end, so that Redis makes room at its bound', async () => {
    const tester = { port: redis.port, ...TESTER }
    const [, policy] = (await asked(tester, (client) => client.config('GET', 'maxmemory-policy'))) as string[]
    const [, bound] = (await asked(tester, (client) => client.config('GET', 'maxmemory'))) as string[]
    expect([policy, Number(bound)]).toEqual(['volatile-ttl', 600 * 1024 * 1024])
    const endless = await asked(tester, async (client) => {
      const ends = (await client.keys('*')).map(async (key) => ({
        key,
        milliseconds: await client.pttl(key),
      }))
      return (await Promise.all(ends)).filter(({ milliseconds }) => milliseconds === -1)
    })
    expect(endless).toEqual([])
  })

  test('no service was denied anything', async () => {
    const refusals = await asked({ port: redis.port, ...TESTER }, (client) => client.call('ACL', 'LOG'))
    // The client's words about itself are not looked at.
    expect((refusals as string[][]).filter((entry) => !entry.includes('client|setinfo'))).toEqual([])
    const keys = await asked({ port: redis.port, ...TESTER }, (client) => client.keys('*'))
    const prefixes = new Set(keys.map((key) => key.split(':')[0]))
    expect(prefixes).toEqual(new Set(['rate', 'throttle', 'idempotency', 'confirmed', 'pace', 'reply']))
    expect(broker.logged()).not.toMatch(/access_refused/i)
    expect(mongod.logged()).not.toMatch(/not authorized/i)
  })
})

describe('MongoDB admits', () => {
  test.each(DATABASES)('%s into its own database only', async (user) => {
    await inMongo(urlOf(user, 'MONGO_URL'), async (client) => {
      await client.db(user).collection('own').insertOne({ mine: true })
      for (const other of [...DATABASES, 'admin', 'local'].filter((name) => name !== user)) {
        const documents = client.db(other).collection('messages')
        for (const attempt of [
          () => documents.findOne(),
          () => documents.insertOne({}),
          () => documents.drop(),
        ])
          await expect(attempt()).rejects.toMatchObject({ code: UNAUTHORIZED })
      }
      await expect(client.db('admin').command({ shutdown: 1 })).rejects.toMatchObject({ code: UNAUTHORIZED })
    })
    expect(mongod.logged()).toMatch(/not authorized/i)
  })

  test('nobody without a password or with another’s', async () => {
    const open = `mongodb://127.0.0.1:${mongod.port}/?replicaSet=rs0`
    await inMongo(open, async (client) => {
      const attempt = client.db('webhook').collection('own').findOne()
      await expect(attempt).rejects.toMatchObject({ code: UNAUTHORIZED })
    })
    const wrong = urlOf('webhook', 'MONGO_URL').replace(
      /:[0-9a-f]{48}@/,
      `:${values.IDENTITY_MONGO_PASSWORD}@`,
    )
    await expect(inMongo(wrong, async () => undefined)).rejects.toMatchObject({ code: 18 })
  })

  test('the job of Kubernetes, with passwords by file, into a replica set that is there', async () => {
    const { MEMBER, ...environment } = compose.services['mongo-replica-set']?.environment ?? {}
    const directory = freshDirectory('job-secrets')
    const files = Object.entries({ ...environment, MONGO_URL: mongod.url }).map(([name, value]) => {
      writeFileSync(join(directory, name), value)
      return [`${name}_FILE`, join(directory, name)] as const
    })
    expect(MEMBER).toBe('mongo:27017')
    expect(runPrepareMongo(Object.fromEntries(files))).toMatchObject({ status: 0, stderr: '' })
  })

  test('the job of Compose, which changes a service’s password, and nobody without that of admin', async () => {
    const changed = 'f'.repeat(48)
    const stranger = prepareMongo(mongod, { ADMIN_PASSWORD: 'guessed', WEBHOOK_PASSWORD: changed })
    expect(stranger.status).toBe(1)
    expect(stranger.stderr).toContain('refuses the password of its user admin')
    const url = urlOf('webhook', 'MONGO_URL')
    await inMongo(url, async () => undefined)
    expect(prepareMongo(mongod, { WEBHOOK_PASSWORD: changed })).toMatchObject({ status: 0 })
    await expect(inMongo(url, async () => undefined)).rejects.toMatchObject({ code: 18 })
    await inMongo(url.replace(/:[0-9a-f]{48}@/, `:${changed}@`), async () => undefined)
    expect(prepareMongo(mongod)).toMatchObject({ status: 0 })
  })
})

test('MongoDB’s data from before there were users stays, and the users are added to it', async () => {
  const place = await freshPlace()
  const before = await startGuardedMongod(place, undefined)
  const admin = { replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host: `127.0.0.1:${place.port}` }] } }
  await inMongo(before.url, (client) => client.db('admin').command(admin))
  const open = `mongodb://127.0.0.1:${place.port}/?replicaSet=rs0`
  await inMongo(open, (client) => client.db('webhook').collection('channels').insertOne({ name: 'Line' }))
  await before.stop()
  const after = await startGuardedMongod(place, values.MONGO_KEY)
  expect(prepareMongo(after)).toMatchObject({ status: 0 })
  const url = urlOf('webhook', 'MONGO_URL').replace(`:${mongod.port}`, `:${place.port}`)
  const found = inMongo(url, (client) => client.db('webhook').collection('channels').findOne({}))
  await expect(found).resolves.toMatchObject({ name: 'Line' })
  const stranger = inMongo(open, (client) => client.db('webhook').collection('channels').findOne({}))
  await expect(stranger).rejects.toMatchObject({ code: UNAUTHORIZED })
  await after.stop()
})

describe('RabbitMQ refuses', () => {
  const queues = [
    'messages.p0',
    'messages.statuses',
    'messages.statuses.p1',
    'messages.log',
    'messages.notices',
    'messages.rejected',
  ]
  const readable = { webhook: ['webhook.channels'], configuration: ['tasks'], dispatcher: queues.slice(0, 5) }
  const writable = {
    webhook: ['messages'],
    configuration: ['configuration', 'rejected'],
    dispatcher: [] as string[],
  }
  writable.dispatcher = ['messages', 'messages.g1', 'dispatcher', 'submissions', 'persons', 'rejected']
  const allQueues = [...queues, 'tasks', 'people', 'webhook.channels', 'dispatcher.configuration']
  const exchanges = [
    '',
    'messages',
    'messages.g1',
    'dispatcher',
    'submissions',
    'persons',
    'rejected',
    'configuration',
    'amq.topic',
  ]

  describe.each(BROKER_USERS)('%s', (user) => {
    const others = allQueues.filter(
      (queue) =>
        !readable[user].includes(queue) && !(user === 'dispatcher' && queue.startsWith('dispatcher')),
    )

    test.each(others)('to consume, empty or look into %s', async (queue) => {
      await refused(user, (channel) => channel.consume(queue, () => {}))
      await refused(user, (channel) => channel.get(queue))
      await refused(user, (channel) => channel.purgeQueue(queue))
    })

    test.each(exchanges.filter((name) => !writable[user].includes(name)))(
      'to publish to the exchange "%s"',
      (exchange) =>
        refused(user, async (channel) => {
          channel.publish(exchange, 'messages.p0', Buffer.from('forged'))
          await channel.waitForConfirms()
        }),
    )
  })

  test.each([
    ['webhook', 'tasks'],
    ['webhook', 'messages.rejected'],
    ['webhook', 'dispatcher.configuration'],
    ['configuration', 'messages.p0'],
    ['configuration', 'messages.log'],
    ['configuration', 'webhook.channels'],
    ['dispatcher', 'webhook.channels'],
  ] as const)('%s to delete %s', (user, queue) => refused(user, (channel) => channel.deleteQueue(queue)))

  test.each([
    ['webhook', 'webhook.channels', 'submissions'],
    ['webhook', 'webhook.channels', 'dispatcher'],
    ['configuration', 'tasks', 'messages'],
    ['configuration', 'messages.p0', 'configuration'],
    ['dispatcher', 'webhook.channels', 'messages'],
  ] as const)('%s to bind %s to %s', (user, queue, exchange) =>
    refused(user, (channel) => channel.bindQueue(queue, exchange, '#')),
  )

  test('all of these with a line in its log', () => {
    expect(broker.logged()).toMatch(/access_refused/i)
  })

  test('a user without a password, and its default user', async () => {
    for (const account of ['guest:guest', 'webhook:', `webhook:${values.DISPATCHER_AMQP_PASSWORD}`])
      await expect(connect(`amqp://${account}@127.0.0.1:${broker.port}`)).rejects.toThrow(/403|ACCESS/)
  })
})

test('RabbitMQ lets configuration count the consumers of a queue of the dispatchers, and no more of it', async () => {
  const counted = await asBrokerUser('configuration', (channel) =>
    channel.checkQueue('dispatcher.configuration'),
  )
  expect(counted.consumerCount).toBeGreaterThanOrEqual(0)
})

describe('Redis admits', () => {
  const names = Object.keys(REDIS_USERS) as (keyof typeof REDIS_USERS)[]
  test.each(names)('%s with its commands on its own keys only', async (user) => {
    await inRedis(urlOf(user, 'REDIS_URL'), async (client) => {
      const [command, own, value] = REDIS_USERS[user]
      await client.call(command, own, value)
      for (const other of names.filter((name) => name !== user)) {
        const [, key] = REDIS_USERS[other]
        await expect(client.call(command, key, value)).rejects.toThrow(/NOPERM/)
      }
      for (const dangerous of DANGEROUS) await expect(client.call(...dangerous)).rejects.toThrow(/NOPERM/)
      const script = `return redis.call('${command}', 'foreign', 1)`
      await expect(client.call('EVAL', script, 0)).rejects.toThrow(/NOPERM|can't access/)
    })
  })

  test('the dispatcher to its channels only, and nobody else to any', async () => {
    const own = 'parley:deltas:dispatcher:1'
    await inRedis(urlOf('dispatcher', 'REDIS_URL'), async (client) => {
      expect(await client.publish(own, 'x')).toBe(0)
      await expect(client.publish('another', 'x')).rejects.toThrow(/NOPERM/)
      await expect(client.subscribe('another')).rejects.toThrow(/NOPERM/)
    })
    for (const user of names.filter((name) => name !== 'dispatcher'))
      await inRedis(urlOf(user, 'REDIS_URL'), async (client) => {
        await expect(client.publish(own, 'x')).rejects.toThrow(/NOPERM/)
        await expect(client.subscribe(own)).rejects.toThrow(/NOPERM/)
      })
  })

  test('nobody without a password, and the health check with PING only', async () => {
    const open = inRedis(`redis://127.0.0.1:${redis.port}`, (client) => client.get('rate:x'))
    await expect(open).rejects.toThrow()
    await inRedis(`redis://health:none@127.0.0.1:${redis.port}`, async (client) => {
      expect(await client.ping()).toBe('PONG')
      await expect(client.get('rate:x')).rejects.toThrow(/NOPERM/)
    })
  })
})

async function inMongo<T>(url: string, work: (client: mongo.MongoClient) => Promise<T>): Promise<T> {
  const client = new mongo.MongoClient(url)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.close()
  }
}

async function inRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    client.disconnect()
  }
}

async function asBrokerUser<T>(
  user: (typeof BROKER_USERS)[number],
  work: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const connection: ChannelModel = await connect(urlOf(user, 'AMQP_URL'))
  try {
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => {})
    return await work(channel)
  } finally {
    await connection.close()
  }
}

/** The broker closes the channel over it, and says why. */
async function refused(
  user: (typeof BROKER_USERS)[number],
  attempt: (channel: ConfirmChannel) => Promise<unknown>,
): Promise<void> {
  await asBrokerUser(user, async (channel) => {
    const reason = new Promise<Error>((resolve) => channel.once('error', resolve))
    await expect(attempt(channel)).rejects.toThrow()
    expect((await reason).message).toMatch(/ACCESS_REFUSED/)
  })
}
