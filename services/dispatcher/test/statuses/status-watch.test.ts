import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { watchStatuses } from '@parley/dispatcher/statuses/status-watch'
import { workStatuses } from '@parley/dispatcher/statuses/work-statuses'
import { type Collections, collectionsOf } from '@parley/dispatcher/store/collections'
import { createCommitter } from '@parley/dispatcher/store/commit'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { roundRobin } from '@parley/shared/internal-client'
import { createLog } from '@parley/shared/log'
import { STATUS_TYPE } from '@parley/shared/message-status'
import { type Broker, connectBroker } from '@parley/shared/messaging/connection'
import { consumeBatches } from '@parley/shared/messaging/consumer'
import { createPublisher, type Publisher } from '@parley/shared/messaging/publisher'
import {
  DISPATCHER_EXCHANGE,
  declareDispatcherTopology,
  STATUS_QUEUES,
} from '@parley/shared/messaging/topology'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'
import { createServiceCalls, type ServiceCalls } from '@parley/shared/service-calls'
import type { ConsumeMessage } from 'amqplib'
import { Registry } from 'prom-client'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { noConsent } from '../no-consent.ts'
import { noTraffic } from '../no-traffic.ts'

const log = createLog({ service: 'test', level: 'silent' })
let database: MongoConnection
let collections: Collections
let broker: Broker
let publisher: Publisher
let edge: Listening
let calls: ServiceCalls
let answer = 200

beforeAll(async () => {
  const { mongoUrl, amqpUrl } = await testServers()
  database = connectMongo({
    url: mongoUrl,
    database: freshDatabase('watch'),
    log,
    prepare: async () => {},
  })
  await database.ready
  collections = collectionsOf(database.connection)
  broker = await connectBroker({ url: amqpUrl, declare: declareDispatcherTopology, log })
  publisher = createPublisher({ broker, log })
  edge = await listen((_req, res) => void res.writeHead(answer).end())
  calls = await createServiceCalls({ caFile: undefined, log })
})
afterAll(async () => {
  await publisher.close()
  await broker.close()
  await edge.close()
  await calls.close()
  await database.connection.dropDatabase()
  await database.close()
})

const watching = async (instance: string, now = Date.now) => {
  await collections.instances.insertOne({ _id: instance, seenAt: new Date() })
  // The second of each is never there.
  const targets = () => roundRobin([new URL(edge.url), new URL('http://127.0.0.1:1')])
  return watchStatuses({
    instance,
    publisher,
    collections,
    log,
    gateways: targets(),
    webhooks: targets(),
    calls,
    times: { statusCheck: 250 },
    now,
  })
}
/** Waits for two notes: the effect of the first is known once the second was made. */
const notedTwice = async () => {
  const seenAt = async () => (await collections.openIntake.findOne())?.seenAt.getTime() ?? 0
  for (let note = 0; note < 2; note++) {
    const before = await seenAt()
    await eventually(async () => (await seenAt()) > before)
  }
}
const clearOf = ({ clearSince }: Awaited<ReturnType<typeof watching>>) =>
  clearSince() ?? Number.POSITIVE_INFINITY
const applied = () =>
  workStatuses({
    collections,
    metrics: createMetrics(new Registry()),
    traffic: noTraffic,
    replica: { find: async () => [] },
    recordConsent: noConsent.recordConsent,
    publisher,
    committer: createCommitter(collections.messages, 'statuses:us'),
  })
const consume = (queue: string, options: { prefetch?: number; work: ReturnType<typeof applied> }) => {
  const consumer = consumeBatches({ queue, declare: async () => {}, log, ...options })
  broker.follow(consumer)
  return consumer
}

describe('a missing status', () => {
  test('says nothing while providers can not hand statuses in, and only from then on when they can', async () => {
    const watch = await watching('edge')
    const until = (clear: boolean) => eventually(() => (watch.clearSince() !== undefined) === clear)
    await until(true)
    const before = Date.now()
    answer = 503
    await until(false)
    answer = 200
    await until(true)
    expect(watch.clearSince()).toBeGreaterThanOrEqual(before)
    watch.close()
  })

  test('says something as soon as an instance has started, while another has seen that they can', async () => {
    const first = await watching('first')
    await eventually(() => first.clearSince())
    await eventually(() => collections.openIntake.findOne())
    const before = Date.now()
    const second = await watching('second')
    await eventually(() => clearOf(second) < before)
    expect(Math.abs(clearOf(second) - clearOf(first))).toBeLessThan(200)
    await Promise.all([first.close(), second.close()])
  })

  test('says nothing of the time in which no instance was there', async () => {
    const first = await watching('ended')
    await eventually(() => collections.openIntake.findOne())
    await first.close()
    const early = { openSince: new Date(Date.now() - 60_000), seenAt: new Date(Date.now() - 6_000) }
    await collections.openIntake.updateOne({}, { $set: early })
    const second = await watching('later')
    await notedTwice()
    expect(clearOf(second)).toBeGreaterThan(early.seenAt.getTime())
    await second.close()
  })

  test('says nothing of the time in which the instance was suspended', async () => {
    await collections.openIntake.deleteMany({})
    let suspended = 0
    const watch = await watching('suspended', () => Date.now() + suspended)
    await eventually(() => watch.clearSince())
    // None was there to see it either.
    await eventually(() => collections.openIntake.findOneAndUpdate({}, { $set: { seenAt: new Date(0) } }))
    suspended = 60_000
    const woken = Date.now() + suspended
    await eventually(() => clearOf(watch) >= woken)
    await watch.close()
  })

  test('says nothing of before to an instance that has seen that they could not', async () => {
    const watch = await watching('closed')
    await eventually(() => watch.clearSince())
    answer = 503
    await eventually(() => watch.clearSince() === undefined)
    await eventually(async () => (await collections.openIntake.findOne()) === null)
    const early = { openSince: new Date(Date.now() - 60_000), seenAt: new Date() }
    await collections.openIntake.insertOne({ _id: 'intake', ...early })
    const opened = Date.now()
    answer = 200
    await eventually(() => watch.clearSince())
    await notedTwice()
    expect(clearOf(watch)).toBeGreaterThanOrEqual(opened)
    await watch.close()
  })

  test('says something soon after a clock that was ahead is set back', async () => {
    let ahead = 0
    const watch = await watching('set back', () => Date.now() + ahead)
    await eventually(() => watch.clearSince())
    answer = 503
    await eventually(() => watch.clearSince() === undefined)
    answer = 200
    ahead = 3_600_000
    const isAhead = (since: number) => since > Date.now() + ahead / 2
    await eventually(() => isAhead(clearOf(watch)))
    const work = applied()
    const consumers = STATUS_QUEUES.map((queue) => consume(queue, { work }))
    await eventually(() => isAhead(watch.consumedUntil()))
    ahead = 0
    await eventually(() => clearOf(watch) <= Date.now())
    await eventually(() => watch.consumedUntil() <= Date.now())
    await watch.close()
    await Promise.all(consumers.map((consumer) => consumer.close()))
  })

  test('says nothing while statuses of any queue are not applied', async () => {
    const watch = await watching('stuck')
    const gate = Promise.withResolvers<void>()
    const work = applied()
    const stuck = async (batch: ConsumeMessage[]) => {
      await gate.promise
      return work(batch)
    }
    const [first, ...others] = STATUS_QUEUES
    const consumers = others.map((queue) => consume(queue, { work }))
    consumers.push(consume(first ?? '', { work: stuck }))
    watch.consumedUntil()
    await eventually(async () => {
      const markers = (await collections.instances.findOne({ _id: 'stuck' }))?.statusMarkers ?? {}
      return Object.keys(markers).length === others.length
    })
    expect(watch.consumedUntil()).toBe(0)
    const opened = Date.now()
    gate.resolve()
    await eventually(() => watch.consumedUntil() > opened)
    watch.close()
    await Promise.all(consumers.map((consumer) => consumer.close()))
  })

  test('says soon enough that a send did not happen though the queues are never empty', async () => {
    const watch = await watching('flow')
    const work = applied()
    const slowly = async (batch: ConsumeMessage[]) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return work(batch)
    }
    const consumers = STATUS_QUEUES.map((queue) => consume(queue, { work: slowly, prefetch: 5 }))
    const depths = () =>
      broker.withChannel((channel) =>
        Promise.all(STATUS_QUEUES.map(async (queue) => (await channel.checkQueue(queue)).messageCount)),
      )
    let isFlowing = true
    let looks = 0
    let emptyLooks = 0
    const flow = (async () => {
      while (isFlowing) {
        const waiting = await depths()
        looks++
        if (waiting.some((count) => count === 0)) emptyLooks++
        // As many as are worked meanwhile, so that some always wait.
        const missing = STATUS_QUEUES.flatMap((queue, at) =>
          Array.from({ length: Math.max(0, 30 - (waiting[at] ?? 0)) }, () => queue),
        )
        const status = { exchange: DISPATCHER_EXCHANGE, type: STATUS_TYPE, body: aStatus() }
        await Promise.all(missing.map((routingKey) => publisher.publish({ ...status, routingKey })))
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    })()
    const began = Date.now()
    await eventually(() => watch.consumedUntil() > began + 3_000)
    const waited = Date.now() - began
    isFlowing = false
    await flow
    expect(waited).toBeLessThan(15_000)
    expect(emptyLooks).toBeLessThan(looks / 2)
    watch.close()
    await Promise.all(consumers.map((consumer) => consumer.close()))
  })
})

function aStatus(): Buffer {
  const status = { workspace: 1, channel: 'c', providerId: 'p', opaque: 'nobody:0', status: 'sent' }
  return Buffer.from(JSON.stringify({ ...status, at: new Date().toISOString(), recipient: null }))
}
