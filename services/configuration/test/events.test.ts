import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { testServers } from '@parley/local/testing/test-servers'
import { documentChange } from '@parley/shared/document-change'
import { type ChannelModel, connect } from 'amqplib'
import { bodies } from './bodies.ts'
import { configurationForTests, startConfiguration } from './configuration-server.ts'
import { eventually } from './eventually.ts'

interface Event {
  key: string
  messageId: string
  resource: string
  workspace: number
  _id: number
  version: number
  operation: string
  document: Record<string, unknown> | null
}

const server = configurationForTests({ proxies: ['rabbitmq'] })
let broker: ChannelModel
let events: Event[] = []

beforeAll(async () => {
  const { amqpUrl } = await testServers()
  broker = await connect(amqpUrl)
  const channel = await broker.createChannel()
  await channel.assertExchange('configuration', 'topic', { durable: true })
  const { queue } = await channel.assertQueue('', { exclusive: true })
  await channel.bindQueue(queue, 'configuration', '#')
  await channel.consume(
    queue,
    (message) => {
      if (message === null) return
      const body = documentChange
        .required()
        .partial({ before: true })
        .parse(JSON.parse(message.content.toString()))
      events.push({ key: message.fields.routingKey, messageId: message.properties.messageId, ...body })
    },
    { noAck: true },
  )
})
afterEach(() => {
  events = []
})
afterAll(() => broker.close())

const count = (length: number) =>
  eventually(
    () => events,
    (seen) => seen.length >= length,
  )
const published = (seen: Event[]) => seen.map(({ key, _id, version }) => `${key} ${_id} ${version}`)

test('every write is published once, in order, with its version', async () => {
  const body = { ...bodies.channels, config: JSON.parse('{"__proto__":{"a":[1]},"$ref":"x","$id":2}') }
  const { json } = await server.call('PUT', '/rest/channels/3', { body, workspace: 4 })
  await server.call('PATCH', '/rest/channels/3', { body: { name: 'New' }, workspace: 4 })
  await server.call('DELETE', '/rest/channels/3', { workspace: 4 })
  await server.call('PUT', '/rest/channels/3', { body, workspace: 4 })
  const seen = await count(4)
  expect(published(seen)).toEqual([
    'channels.created 3 1',
    'channels.updated 3 2',
    'channels.deleted 3 3',
    'channels.created 3 4',
  ])
  expect(JSON.stringify(seen[0]?.document)).toBe(JSON.stringify(json))
  expect(seen[0]).toMatchObject({
    resource: 'channels',
    workspace: 4,
    messageId: 'channels/4/3/1',
    operation: 'created',
  })
  expect(seen[2]?.document).toBeNull()
})

test('writes succeed while RabbitMQ is unavailable, and are published when it is back', async () => {
  server.proxies.rabbitmq.cut()
  const created = await server.call('POST', '/rest/jobs', { body: bodies.jobs })
  expect(created.status).toBe(200)
  await eventually(
    () => server.call('GET', `/rest/jobs/${created.json._id}/history`),
    ({ status }) => status === 200,
  )
  expect(events).toEqual([])
  server.proxies.rabbitmq.mend()
  expect(published(await count(1))).toContain(`jobs.created ${created.json._id} 1`)
})

test('without a stored position every document is published once again, deletions included', async () => {
  await server.call('PUT', '/rest/steps/1', { body: bodies.steps, workspace: 9 })
  await server.call('PUT', '/rest/steps/2', { body: bodies.steps, workspace: 9 })
  await server.call('DELETE', '/rest/steps/2?force=true', { workspace: 9 })
  await eventually(
    () => events,
    (seen) => seen.some(({ key, _id }) => key === 'steps.deleted' && _id === 2),
  )
  events = []
  await forgetPlace()
  const seen = await eventually(
    () => events,
    (all) => ['steps.created 1 1', 'steps.deleted 2 2'].every((line) => published(all).includes(line)),
    30_000,
  )
  expect(published(seen)).toContain('channels.created 3 4')
})

test('one instance publishes at a time, and another continues where it stopped', async () => {
  const workspace = 12
  const silent = await startConfiguration()
  const withBroker = { AMQP_URL: (await testServers()).amqpUrl }
  const first = await silent.startInstance(withBroker)
  const write = () => silent.call('POST', '/rest/actions', { body: bodies.actions, workspace })
  const own = () => published(events.filter((event) => event.workspace === workspace))
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => `actions.created ${from + at} 1`)
  await write()
  await eventually(own, (seen) => seen.length === 1)
  await silent.startInstance(withBroker)
  try {
    for (let at = 2; at <= 10; at++) await write()
    await eventually(own, (seen) => seen.length >= 10)
    expect(own()).toEqual(lines(1, 10))
    await first.close()
    for (let at = 11; at <= 20; at++) await write()
    await eventually(own, (seen) => seen.length >= 20)
    expect(own()).toEqual(lines(1, 20))
  } finally {
    await silent.close()
  }
})

/** Takes the relay's lease away for 5 s, and with it the place to go on from. */
async function forgetPlace(): Promise<void> {
  const taken = { owner: 'another instance', expiresAt: new Date(Date.now() + 5_000) }
  const relays = server.database.collection<{ _id: string }>('relays')
  await relays.updateOne({ _id: 'events' }, { $set: taken, $unset: { from: '' } })
}
