import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { type Channel, type ChannelModel, connect } from 'amqplib'
import { createLog } from '../src/log.ts'
import { type Broker, connectBroker } from '../src/messaging/connection.ts'
import { consumeEach } from '../src/messaging/consumer.ts'

const log = createLog({ service: 'test', level: 'silent' })
const queue = `deleted-${randomUUID()}`

let connection: ChannelModel
let channel: Channel
let broker: Broker
beforeAll(async () => {
  const { amqpUrl } = await testServers()
  connection = await connect(amqpUrl)
  channel = await connection.createChannel()
  broker = await connectBroker({
    url: amqpUrl,
    declare: async (one) => void (await one.assertQueue(queue, { durable: true })),
    log,
  })
})
afterAll(async () => {
  await broker.close()
  await channel.deleteQueue(queue)
  await connection.close()
})

test('a queue that somebody deletes is declared again by its consumer, which goes on', async () => {
  const taken: string[] = []
  const take = async ({ content }: { content: Buffer }) => void taken.push(content.toString())
  const consumer = consumeEach({ queue, take, declare: broker.declare, log })
  broker.follow(consumer)
  await eventually(async () => consumer.isConsuming())
  await channel.deleteQueue(queue)
  await eventually(async () => {
    channel.sendToQueue(queue, Buffer.from('again'))
    return taken.length > 0
  })
  expect(taken[0]).toBe('again')
  await consumer.close()
})
