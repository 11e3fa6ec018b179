import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { type ChannelModel, connect } from 'amqplib'
import { createLog, type Log } from '../src/log.ts'
import { connectBroker, declareOn } from '../src/messaging/connection.ts'
import {
  declareTopology,
  LOG_QUEUE,
  MESSAGES_EXCHANGE,
  STATUS_PARTITIONS,
  statusKey,
  statusQueue,
} from '../src/messaging/topology.ts'

let url: string
let connection: ChannelModel
beforeAll(async () => {
  url = (await testServers()).amqpUrl
  connection = await connect(url)
})
afterAll(() => connection.close())

/** A log, and the error lines that were written to it. */
function errorLog(): { log: Log; lines: unknown[] } {
  const lines: unknown[] = []
  const log = createLog({ service: 'test', level: 'silent' })
  return { log: Object.assign(log, { error: (line: unknown) => lines.push(line) }), lines }
}

describe('the topology', () => {
  test('is declared, and again without harm; each status goes to the queue of its key, and to the log', async () => {
    const { log, lines } = errorLog()
    const { signal } = new AbortController()
    for (let times = 0; times < 2; times++) {
      await declareOn({ connection, declare: declareTopology, log, signal })
    }
    const channel = await connection.createConfirmChannel()
    const queues = Array.from({ length: STATUS_PARTITIONS }, (_, at) => statusQueue(at))
    for (const at of queues.keys()) channel.publish(MESSAGES_EXCHANGE, statusKey(at), Buffer.from('{}'))
    await channel.waitForConfirms()
    await eventually(async () => {
      const counts = await Promise.all([...queues, LOG_QUEUE].map((queue) => channel.checkQueue(queue)))
      const [log, ...statuses] = counts.map(({ messageCount }) => messageCount).reverse()
      return log === queues.length && statuses.every((count) => count === 1)
    })
    await channel.close()
    expect(lines).toEqual([])
  })

  test('that exists with other arguments is logged once, by name, and declared as soon as that is mended', async () => {
    const queue = statusQueue(1)
    const channel = await connection.createChannel()
    await channel.deleteQueue(queue)
    await channel.assertQueue(queue, { durable: true })
    const { log, lines } = errorLog()
    let tries = 0
    const declaring = declareOn({
      connection,
      declare: (own) => {
        tries++
        return declareTopology(own)
      },
      log,
      signal: new AbortController().signal,
      againMs: 20,
    })
    await eventually(() => tries > 3)
    expect(lines).toEqual([{ queue, reason: expect.stringContaining('inequivalent arg') }])
    await channel.deleteQueue(queue)
    await declaring
    await channel.checkQueue(queue)
    await channel.close()
  })

  test('no longer waits for that once it is called off, or the connection is lost', async () => {
    const queue = statusQueue(2)
    const channel = await connection.createChannel()
    await channel.deleteQueue(queue)
    await channel.assertQueue(queue, { durable: true })
    const { log } = errorLog()
    const calledOff = new AbortController()
    const own = await connect(url)
    const declare = declareTopology
    const first = declareOn({ connection, declare, log, signal: calledOff.signal })
    const second = declareOn({ connection: own, declare, log, signal: new AbortController().signal })
    const outcome = Promise.allSettled([first, second])
    calledOff.abort()
    await own.close()
    expect((await outcome).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await channel.deleteQueue(queue)
    await channel.close()
  })

  test('that another service has not declared yet is looked for less and less often, and is named once', async () => {
    const exchange = 'declared by another service'
    const said: unknown[] = []
    const log = createLog({ service: 'test', level: 'silent' })
    const triedAt: number[] = []
    const declaring = declareOn({
      connection,
      declare: async (own) => {
        triedAt.push(performance.now())
        await own.checkExchange(exchange)
      },
      log: Object.assign(log, { warn: (line: unknown) => said.push(line) }),
      signal: new AbortController().signal,
    })
    await eventually(() => triedAt.length === 4)
    const [first = 0, second = 0, third = 0] = triedAt.slice(1).map((at, one) => at - (triedAt[one] ?? 0))
    expect(first).toBeLessThan(second)
    expect(second).toBeLessThan(third)
    const channel = await connection.createChannel()
    await channel.assertExchange(exchange, 'direct', { durable: true })
    await declaring
    expect(said).toEqual([{ queue: exchange }])
    await channel.deleteExchange(exchange)
    await channel.close()
  })

  test('that can not be declared leaves the connection down, which goes on trying', async () => {
    const queue = statusQueue(3)
    const channel = await connection.createChannel()
    await channel.deleteQueue(queue)
    await channel.assertQueue(queue, { durable: true })
    const { log, lines } = errorLog()
    const broker = await connectBroker({ url, declare: declareTopology, log, againMs: 20 })
    await eventually(() => lines.length > 0)
    expect(await broker.isUp()).toBe(false)
    await channel.deleteQueue(queue)
    await eventually(() => broker.isUp())
    expect(lines).toHaveLength(1)
    await broker.close()
    await channel.close()
  })
})
