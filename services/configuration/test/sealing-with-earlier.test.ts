import { expect, test } from '@jest/globals'
import { testServers } from '@parley/local/testing/test-servers'
import { DISPATCHER_CHANGES, declareChanges, SEALED_READERS } from '@parley/shared/messaging/topology'
import { createSecretBox, isSealed, openSecrets, secretKeysOf } from '@parley/shared/sealed-value'
import { connect } from 'amqplib'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests()
const CANARY = 'in-the-clear'
const MCP = `https://m.example/mcp?k=${CANARY}`
const value = { headers: { Authorization: CANARY }, list: [[CANARY, 7]] }

const put = (path: string, body: unknown) => server.call('PUT', `/rest/${path}`, { body })
const get = (path: string, role?: string) => server.call('GET', `/rest/${path}`, role ? { role } : {})
const everything = async () => {
  const collections = await server.database.listCollections().toArray()
  const names = collections.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
  const all = await Promise.all(names.map((name) => server.database.collection(name).find().toArray()))
  return JSON.stringify(all)
}
const sealing = () => server.database.collection<{ _id: string; lookedAt?: string }>('sealing')

test('while a dispatcher of the release before is there, only what it can open is sealed', async () => {
  const { amqpUrl } = await testServers()
  const broker = await connect(amqpUrl)
  const channel = await broker.createChannel()
  for (const queue of [DISPATCHER_CHANGES, SEALED_READERS])
    await declareChanges(channel, { queue, resources: [], maxLength: queue === SEALED_READERS ? 1 : 100_000 })
  const earlier = await channel.consume(DISPATCHER_CHANGES, (message) => message && channel.ack(message))
  // The first instance has looked through the empty database by then.
  await put('channels/1', bodies.channels)
  await eventually(
    () => get('channels/1/history'),
    ({ json }) => json.data?.length === 1,
  )
  await sealing().deleteMany({})
  const instance = await server.startInstance({ AMQP_URL: amqpUrl })
  const body = { ...bodies.configs, name: 'credentials', value: { ...value, apiKey: CANARY, url: MCP } }
  const written = await instance.call('PUT', '/rest/configs/200', { body })
  expect([written.status, written.json.value]).toEqual([200, body.value])
  const stored = async () =>
    (await server.database.collection('configs').findOne({ '_id.id': 200 }))?.doc.value
  const { apiKey, ...others } = await stored()
  expect([isSealed(apiKey), others]).toEqual([true, { ...value, url: MCP }])
  const masked = await instance.call('GET', '/rest/configs/200', { role: 'VIEWER' })
  expect(masked.text).not.toContain(CANARY)
  const again = await instance.call('PUT', '/rest/configs/200', {
    body: { ...body, value: masked.json.value },
  })
  expect([again.status, again.json.value]).toEqual([200, body.value])
  expect(await stored()).toMatchObject({ ...value, url: MCP })

  await channel.cancel(earlier.consumerTag)
  await eventually(everything, (all) => !all.includes(CANARY))
  const box = createSecretBox(secretKeysOf({}))
  expect(openSecrets({ name: 'credentials', value: await stored() }, box, 1).value).toEqual(body.value)
  expect(await sealing().findOne()).toMatchObject({ all: true })
  await instance.call('PUT', '/rest/configs/201', { body })
  expect(await everything()).not.toContain(CANARY)
  await broker.close()
})
