import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Collections, collectionsOf } from '@parley/dispatcher/database'
import type { KeptChannel } from '@parley/dispatcher/keep-channel'
import { watchStatuses } from '@parley/dispatcher/statuses/status-watch'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'

const log = createLog({ service: 'test', level: 'silent' })
let database: MongoConnection
let copies: Collections['copies']
let edge: Listening
let answer = 200

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  database = connectMongo({
    url: mongoUrl,
    database: freshDatabase('watch'),
    log,
    prepare: async () => {},
  })
  await database.ready
  copies = collectionsOf(database.connection).copies
  edge = await listen((_req, res) => void res.writeHead(answer).end())
})
afterAll(async () => {
  await edge.close()
  await database.connection.dropDatabase()
  await database.close()
})

describe('news of sends', () => {
  test('count as arriving only while every part of their way is whole', async () => {
    const queue = { queue: 'messages.statuses', messageCount: 0, consumerCount: 1 }
    const kept = { current: () => ({ checkQueue: async () => queue }) } as unknown as KeptChannel
    const watch = watchStatuses({ kept, gatewayUrl: edge.url, webhookUrl: edge.url, copies, log })
    const until = (clear: boolean) =>
      eventually(() => ((watch.clearSince() !== undefined) === clear ? true : undefined))
    const broken: Array<[breakIt: () => unknown, mend: () => unknown]> = [
      [() => (queue.messageCount = 1), () => (queue.messageCount = 0)],
      [() => (queue.consumerCount = 0), () => (queue.consumerCount = 1)],
      [() => (answer = 503), () => (answer = 200)],
      [
        () => copies.insertOne({ _id: 'sleeps', seenAt: new Date(Date.now() - 6_000) }),
        () => copies.updateOne({ _id: 'sleeps' }, { $set: { seenAt: new Date() } }),
      ],
    ]
    await until(true)
    for (const [breakIt, mend] of broken) {
      const before = Date.now()
      await breakIt()
      await until(false)
      await mend()
      await until(true)
      expect(watch.clearSince()).toBeGreaterThanOrEqual(before)
    }
    watch.close()
  })
})
