import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { findFreePort } from '@parley/local/servers/choose-ports'
import { makeSecrets } from '@parley/local/system/secrets'
import { type GuardedServer, startGuardedBroker } from '@parley/local/testing/guarded-servers'
import { TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import {
  announceSlots,
  connectEarlierKeys,
  connectLayout,
  declareLayout,
  disconnectLayout,
  layoutExchange,
  partitionQueues,
  requireSlots,
} from '@parley/shared/messaging/layout'
import { type ChannelModel, connect } from 'amqplib'
import { composeEnvironment } from '../../docker/compose-environment.ts'
import { kubernetesSecrets } from '../src/secrets.ts'

const ADMIN = { user: 'operator', password: 'made-by-the-operator' }
const UNAUTHORIZED = 401
const NEXT_LAYOUT = { generation: 2, partitions: 3 }

let broker: GuardedServer
let managementUrl: string
let secrets: Map<string, Record<string, string>>

beforeAll(async () => {
  const managementPort = await findFreePort([])
  managementUrl = `http://127.0.0.1:${managementPort}`
  const users = [{ name: ADMIN.user, password: ADMIN.password, tags: ['administrator'] }]
  const permissions = [{ user: ADMIN.user, vhost: '/', configure: '.*', write: '.*', read: '.*' }]
  const definitions = JSON.stringify({ vhosts: [{ name: '/' }], users, permissions })
  broker = await startGuardedBroker({ definitions, account: ADMIN, managementPort })
  const amqp = `amqp://127.0.0.1:${broker.port}`
  const addresses = { mongo: 'mongodb://unused', redis: 'redis://unused', amqp, management: managementUrl }
  const made = kubernetesSecrets(composeEnvironment(makeSecrets()), addresses)
  secrets = new Map(made.map(({ metadata, stringData }) => [metadata.name, stringData]))
})

afterAll(async () => {
  await broker?.stop()
})

/** Runs what the Job runs, with what it is given. */
function prepare(more: Record<string, string> = {}) {
  return spawnSync(process.execPath, ['deploy/docker/prepare-rabbitmq.ts'], {
    cwd: CHECKOUT,
    encoding: 'utf8',
    env: {
      ...secrets.get('parley-rabbitmq-users'),
      ADMIN_USER: ADMIN.user,
      ADMIN_PASSWORD: ADMIN.password,
      ...more,
    },
  })
}

async function connectedAs<T>(service: string, use: (connection: ChannelModel) => Promise<T>): Promise<T> {
  const connection = await connect(secrets.get(`parley-${service}`)?.AMQP_URL ?? '')
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}

test('the Job fails without the right password of the administrator, says why, and has made nothing', async () => {
  const { status, stderr } = prepare({ ADMIN_PASSWORD: 'guessed' })
  expect(status).toBe(1)
  expect(stderr).toContain(`RabbitMQ refused the definitions: HTTP status ${UNAUTHORIZED}`)
  await expect(connectedAs('webhook', async () => undefined)).rejects.toThrow(/403|ACCESS/)
})

test('the Job makes the users and the queues, any number of times, and prints no password', async () => {
  const passwords = [
    ...(secrets.get('parley-rabbitmq-users')?.DEFINITIONS ?? '').matchAll(/"password":"(\w+)"/g),
  ]
  expect(passwords).toHaveLength(5)
  for (let times = 0; times < 2; times++) {
    const { status, stdout, stderr } = prepare()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const [, password = ''] of passwords) expect(stdout).not.toContain(password)
  }
  for (const service of ['webhook', 'configuration']) await connectedAs(service, async () => undefined)
  await connectedAs('dispatcher', async (connection) => {
    const channel = await connection.createChannel()
    for (const queue of ['messages.statuses', 'messages.log'])
      expect(await channel.checkQueue(queue)).toMatchObject({ queue, messageCount: 0 })
  })
})

test('the dispatcher’s user may declare partitions, and replace them by those of another number', async () => {
  await connectedAs('dispatcher', async (connection) => {
    const channel = await connection.createChannel()
    await declareLayout(channel, TEST_LAYOUT)
    await connectLayout(channel, TEST_LAYOUT)
    await connectEarlierKeys(channel)
    await announceSlots(channel)
    await declareLayout(channel, NEXT_LAYOUT)
    await connectLayout(channel, NEXT_LAYOUT)
    await disconnectLayout(channel, TEST_LAYOUT)
    await channel.consume(testQueue(0), () => undefined)
    await channel.deleteQueue(testQueue(0))
    await channel.deleteExchange(layoutExchange(TEST_LAYOUT))
  })
  await connectedAs('webhook', async (connection) => requireSlots(await connection.createChannel()))
})

test('KEDA’s user sees how long the queues of messages are, and nothing else', async () => {
  const url = new URL(secrets.get('parley-keda')?.host ?? '')
  const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
  const asked = (path: string, method = 'GET') =>
    fetch(`${managementUrl}${path}`, { method, headers: { authorization } })
  const pattern = encodeURIComponent('^messages\\.(g[0-9]+\\.)?p[0-9]+$')
  const response = await asked(`/api/queues/%2F?page=1&use_regex=true&name=${pattern}&page_size=100`)
  const { items } = (await response.json()) as { items: { name: string }[] }
  expect(items.map(({ name }) => name).toSorted()).toEqual(
    [...partitionQueues(NEXT_LAYOUT), ...partitionQueues(TEST_LAYOUT).slice(1)].toSorted(),
  )
  expect((await asked('/api/users')).status).toBe(UNAUTHORIZED)
  expect((await asked('/api/queues/%2F/messages.p1/contents', 'DELETE')).status).toBe(UNAUTHORIZED)
  expect((await asked('/api/definitions')).status).toBe(UNAUTHORIZED)
})
