import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { type Broker, connectBroker } from '@parley/shared/messaging/connection'
import { createPublisher, type Publisher } from '@parley/shared/messaging/publisher'
import { type Channel, type ChannelModel, connect } from 'amqplib'

const log = createLog({ service: 'test', level: 'silent' })
const exchange = `publisher-${randomUUID()}`
const queue = `${exchange}-queue`
const declare = async (channel: Channel) => {
  await channel.assertExchange(exchange, 'topic', { durable: false })
  await channel.assertQueue(queue, { durable: false })
  await channel.bindQueue(queue, exchange, 'known')
}
const body = Buffer.from('{}')
const known = { exchange, routingKey: 'known', type: 'test.v1', body }

let own: ChannelModel
let channel: Channel
let proxy: TcpProxy
let broker: Broker
let publisher: Publisher
beforeAll(async () => {
  const url = new URL((await testServers()).amqpUrl)
  own = await connect(url.href)
  channel = await own.createChannel()
  proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) })
  Object.assign(url, { hostname: '127.0.0.1', port: String(proxy.port) })
  broker = await connectBroker({ url: url.href, declare, log })
  publisher = createPublisher({ broker, log })
  await untilUp()
})
afterAll(async () => {
  await publisher.close()
  await broker.close()
  await channel.deleteQueue(queue)
  await channel.deleteExchange(exchange)
  await own.close()
  await proxy.close()
})

const untilUp = () => eventually(() => publisher.isUp())
const untilPublished = (messageId = '') =>
  eventually(() =>
    publisher.publish({ ...known, messageId }).then(
      () => true as const,
      () => undefined,
    ),
  )
const unavailable = expect.objectContaining({ code: 'unavailable' })
const received = async () => {
  const message = await channel.get(queue, { noAck: true })
  return message === false ? undefined : message
}

describe('a publisher', () => {
  test('resolves once the message is in its queue, persistent, with its properties and headers', async () => {
    await publisher.publish({ ...known, messageId: 'first', headers: { workspace: 7, missing: undefined } })
    const message = await received()
    expect(message?.properties).toMatchObject({
      messageId: 'first',
      type: 'test.v1',
      contentType: 'application/json',
      deliveryMode: 2,
      headers: { workspace: 7 },
    })
    expect(message?.properties.timestamp).toBeGreaterThan(1_700_000_000)
    expect(message?.content.toString()).toBe('{}')
  })

  test('publishes in the order in which it is given messages', async () => {
    const ids = Array.from({ length: 50 }, (_, at) => `in order ${at}`)
    await Promise.all(ids.map((messageId) => publisher.publish({ ...known, messageId })))
    const messages = []
    for (const _id of ids) messages.push((await received())?.properties.messageId)
    expect(messages).toEqual(ids)
  })

  test('whose channel the broker closes, for the exchange is gone, declares it again and goes on', async () => {
    await channel.deleteExchange(exchange)
    await expect(publisher.publish(known)).rejects.toEqual(unavailable)
    await untilPublished('again')
    expect((await received())?.properties.messageId).toBe('again')
  })

  test('rejects a mandatory message for which there is no queue, and no other', async () => {
    const lost = { ...known, routingKey: 'unknown', mandatory: true, messageId: 'lost' }
    const outcomes = await Promise.allSettled([
      publisher.publish({ ...known, mandatory: true, messageId: 'before' }),
      publisher.publish(lost),
      publisher.publish({ ...known, mandatory: true, messageId: 'behind' }),
      publisher.publish({ ...lost, mandatory: false }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({ reason: unavailable })
    await channel.purgeQueue(queue)
  })

  test('whose message must reach a queue that somebody has deleted declares it again', async () => {
    await channel.deleteQueue(queue)
    await eventually(() =>
      publisher.publish({ ...known, messageId: 'must arrive', mandatory: true }).then(
        () => true as const,
        () => undefined,
      ),
    )
    expect((await received())?.properties.messageId).toBe('must arrive')
  })

  test('takes 5,000 messages in flight and rejects the next one', async () => {
    const deadline = performance.now() + 60_000
    const taken = Array.from({ length: 5_000 }, () => publisher.publish(known, deadline))
    await expect(publisher.publish(known, deadline)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Too many messages are in flight.',
    })
    await Promise.all(taken)
    await publisher.publish(known)
    await channel.purgeQueue(queue)
  })

  test('rejects what is not confirmed by its deadline, and goes on once the broker answers again', async () => {
    proxy.stall()
    await expect(publisher.publish(known, performance.now() + 50)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The message broker is slow.',
    })
    proxy.cut()
    proxy.mend()
    await untilPublished()
  })

  test.each([
    ['5,000 messages', 5_000, body],
    ['128 MiB', 128, Buffer.alloc(1024 * 1024)],
  ])('has at most %s that wait for a confirm, also once they are late', async (_what, count, large) => {
    proxy.stall()
    const deadline = performance.now() + 50
    const late = Array.from({ length: count }, () => publisher.publish({ ...known, body: large }, deadline))
    for (const { status } of await Promise.allSettled(late)) expect(status).toBe('rejected')
    await expect(publisher.publish(known)).rejects.toMatchObject({
      message: 'Too many messages are in flight.',
    })
    proxy.cut()
    proxy.mend()
    await untilPublished()
    await channel.purgeQueue(queue)
  })

  test('rejects at once without a broker, and publishes again when it is back', async () => {
    proxy.cut()
    await eventually(async () => ((await publisher.isUp()) ? undefined : true))
    await expect(publisher.publish(known)).rejects.toEqual(unavailable)
    proxy.mend()
    await untilUp()
    await publisher.publish(known)
  })
})
