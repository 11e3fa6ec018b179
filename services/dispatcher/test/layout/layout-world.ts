import { randomUUID } from 'node:crypto'
import { eventually } from '@parley/local/testing/service-under-test'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { layoutExchange, partitionQueues, SLOTS_EXCHANGE } from '@parley/shared/messaging/layout'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { connectMongo } from '@parley/shared/mongo'
import { type Channel, connect } from 'amqplib'
import { startLayoutChanges } from '../../src/layout/change-layout.ts'
import { declareQueues } from '../../src/layout/declare-queues.ts'
import { collectionsOf, prepareDatabase } from '../../src/store/collections.ts'
import { readLayout } from '../../src/store/layout-record.ts'

const log = createLog({ service: 'test', level: 'silent' })

/** A database and a broker of their own, and an instance's part in changes of the layout. Nothing works the partitions. */
export async function startLayoutWorld({ partitions = 8 } = {}) {
  const { mongoUrl, amqpUrl } = await testServers()
  const database = connectMongo({
    url: mongoUrl,
    database: freshDatabase('dispatcher'),
    log,
    prepare: async () => undefined,
  })
  await database.ready
  const { connection } = database
  const collections = collectionsOf(connection)
  const layout = () => readLayout(collections.layouts)
  const startSession = () => connection.getClient().startSession()
  const own = await connect(amqpUrl)
  const channel = await own.createConfirmChannel()
  const closing: (() => Promise<unknown>)[] = []
  return {
    collections,
    startSession,
    channel,
    layout,
    prepare: (number = partitions) => prepareDatabase(connection, number),
    /** Connects an instance, which declares the partitions; with `changes` it carries those out. It `read`s the layout. */
    async startInstance({ changes = true, read = layout } = {}) {
      const instance = randomUUID()
      const declare = declareQueues({ instance, ready: Promise.resolve(), layout: read })
      const broker = await connectBroker({ url: amqpUrl, declare, log })
      const publisher = createPublisher({ broker, log })
      await eventually(() => publisher.isUp())
      const options = { collections, startSession, broker, publisher, instance, log }
      const changing = changes ? startLayoutChanges({ ...options, configured: partitions }) : undefined
      closing.unshift(async () => {
        await changing?.stop()
        await publisher.close()
        await broker.close()
      })
      return { broker, publisher }
    },
    /** True if the broker has an exchange of this name. */
    async exists(exchange: string): Promise<boolean> {
      const asking: Channel = await own.createChannel()
      asking.on('error', () => {})
      try {
        await asking.checkExchange(exchange)
        await asking.close()
        return true
      } catch {
        return false
      }
    },
    async close() {
      for (const close of closing) await close()
      await emptyBroker(channel)
      await own.close()
      await releaseDatabase(connection.db)
      await database.close()
    },
  }
}

async function emptyBroker(channel: Channel): Promise<void> {
  for (const generation of [1, 2]) {
    await channel.deleteExchange(layoutExchange({ generation }))
    for (const queue of partitionQueues({ generation, partitions: 16 })) await channel.deleteQueue(queue)
  }
  await channel.deleteExchange(SLOTS_EXCHANGE)
}

export type LayoutWorld = Awaited<ReturnType<typeof startLayoutWorld>>
