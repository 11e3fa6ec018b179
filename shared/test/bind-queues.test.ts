import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { type Channel, type ChannelModel, connect } from 'amqplib'
import { createLog } from '../src/log.ts'
import { type Broker, connectBroker } from '../src/messaging/connection.ts'
import { declareLayout, layoutExchange, partitionQueues, SLOTS, slotKey } from '../src/messaging/layout.ts'
import { bindQueues } from '../src/messaging/topology.ts'

const LAYOUT = { generation: 700, partitions: 3 }
const exchange = layoutExchange(LAYOUT)
const queues = partitionQueues(LAYOUT)
const log = createLog({ service: 'test', level: 'silent' })

let connection: ChannelModel
let broker: Broker
beforeAll(async () => {
  const { amqpUrl } = await testServers()
  connection = await connect(amqpUrl)
  broker = await connectBroker({ url: amqpUrl, declare: (channel) => declareLayout(channel, LAYOUT), log })
  await eventually(() => broker.isUp())
})
afterAll(async () => {
  await broker.close()
  const channel = await connection.createChannel()
  await removeAll(channel)
  await connection.close()
})

async function removeAll(channel: Channel): Promise<void> {
  await channel.deleteExchange(exchange)
  for (const queue of queues) await channel.deleteQueue(queue)
}

/** How many messages are in each queue once one was published by each slot's key. */
async function publishToAllSlots(): Promise<number[]> {
  const channel = await connection.createConfirmChannel()
  for (let slot = 0; slot < SLOTS; slot++) channel.publish(exchange, slotKey(slot), Buffer.from('{}'))
  await channel.waitForConfirms()
  const counts: number[] = []
  for (const queue of queues) counts.push((await channel.purgeQueue(queue)).messageCount)
  await channel.close()
  return counts
}

test('every slot leads to its partition, and does so again once it is declared at a broker that has lost all', async () => {
  expect(await publishToAllSlots()).toEqual([86, 85, 85])
  const channel = await connection.createChannel()
  await removeAll(channel)
  await channel.close()
  await broker.declare()
  expect(await publishToAllSlots()).toEqual([86, 85, 85])
})

test('slots lead to a partition again whose queue alone was lost', async () => {
  const channel = await connection.createChannel()
  await channel.deleteQueue(queues[1] ?? '')
  await channel.close()
  await broker.declare()
  expect(await publishToAllSlots()).toEqual([86, 85, 85])
})

test('binding a queue that is missing rejects with the broker’s 404, wherever it stands among others', async () => {
  const [first = '', last = ''] = queues
  for (const at of [0, 1, 2]) {
    const channel = await connection.createChannel()
    channel.on('error', () => {})
    const bindings = [first, last].map((queue) => ({ queue, key: 'other' }))
    bindings.splice(at, 0, { queue: 'missing', key: 'other' })
    await expect(bindQueues(channel, exchange, bindings)).rejects.toMatchObject({ code: 404 })
  }
})
