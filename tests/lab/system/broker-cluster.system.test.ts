import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readLog } from '@parley/dispatcher/reconciliation/read-log'
import { findFreePort } from '@parley/local/servers/choose-ports'
import { freshDirectory } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { connectBroker } from '@parley/shared/messaging/connection'
import { slotKey } from '@parley/shared/messaging/layout'
import { LOG_QUEUE, MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import { type ManagementApi, spreadQueues } from '../../../deploy/docker/spread-queues.ts'
import { type BrokerCluster, startBrokerCluster } from './broker-cluster.ts'

const START_MS = 240_000
const READ_MS = 60_000
const log = createLog({ service: 'test', level: 'silent' })

let cluster: BrokerCluster
let api: ManagementApi
beforeAll(async () => {
  const managementPort = await findFreePort([])
  const directory = freshDirectory('broker-cluster')
  cluster = await startBrokerCluster({ directory, managementPort, say: () => undefined })
  const { username: user, password } = new URL(cluster.nodes[0]?.url ?? '')
  api = { url: `http://127.0.0.1:${managementPort}`, user, password }
}, START_MS)
afterAll(() => cluster.stop(), START_MS)

test('the log is read through the one node that has a replica of it, whichever is connected to first', async () => {
  const [first] = cluster.nodes
  const connection = await connect(first?.url ?? '')
  const channel = await connection.createConfirmChannel()
  await channel.assertExchange(MESSAGES_EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(LOG_QUEUE, {
    durable: true,
    arguments: { 'x-queue-type': 'stream', 'x-initial-cluster-size': 1 },
  })
  await channel.bindQueue(LOG_QUEUE, MESSAGES_EXCHANGE, '#')
  const read = new Set<string>()
  const hosts = cluster.nodes.slice(1).map(async ({ url }) => {
    // It begins with a node that has no replica, whichever of the two it takes.
    const list = [new URL(url).host, new URL(url).host, new URL(url).host, new URL(first?.url ?? '').host]
    const broker = await connectBroker({
      url: `amqp://${new URL(url).username}:${new URL(url).password}@${list.join(',')}`,
      declare: async () => {},
      log,
    })
    const reader = readLog({
      position: async () => undefined,
      work: async (entries) => {
        for (const { messageId } of entries) read.add(`${url} ${messageId}`)
      },
      isLeased: () => true,
      refused: broker.moveOn,
      declare: broker.declare,
      log,
    })
    broker.follow(reader)
    return { broker, reader }
  })
  const readers = await Promise.all(hosts)
  channel.publish(MESSAGES_EXCHANGE, slotKey(0), Buffer.from('{}'), {
    messageId: 'one',
    type: MESSAGE_TYPE,
    persistent: true,
    timestamp: Math.floor(Date.now() / 1_000),
    headers: { workspace: 1, channel: 'c' },
  })
  await channel.waitForConfirms()
  expect(await waitUntil(() => read.size === readers.length, { timeoutMs: READ_MS })).toBe(true)
  for (const { broker, reader } of readers) {
    expect(reader.readUpTo()?.getTime()).toBeGreaterThan(Date.now() - READ_MS)
    await reader.close()
    expect(reader.readUpTo()).toBeUndefined()
    await broker.close()
  }
  await connection.close()
})

test('queues with fewer members than the cluster could have are named, and the leaders of all are spread over its nodes', async () => {
  const connection = await connect(cluster.nodes[0]?.url ?? '')
  const channel = await connection.createChannel()
  const declare = (name: string, more: object) =>
    channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum', ...more } })
  await declare('alone', { 'x-quorum-initial-group-size': 1 })
  const names = Array.from({ length: 6 }, (_, at) => `spread-${at}`)
  for (const name of names) await declare(name, { 'x-queue-leader-locator': 'client-local' })
  await connection.close()
  const leaders = async () =>
    new Set((await cluster.members(0)).flatMap(({ name, leader }) => (names.includes(name) ? [leader] : [])))
      .size
  expect(await leaders()).toBe(1)
  const lacking = await spreadQueues(api, '/')
  expect(lacking).toContain('alone has 1 of 3 members')
  expect(lacking.some((line) => line.startsWith('spread-'))).toBe(false)
  expect(await waitUntil(async () => (await leaders()) === 3, { timeoutMs: 60_000 })).toBe(true)
})
