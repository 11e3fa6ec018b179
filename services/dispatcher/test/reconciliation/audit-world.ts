import { randomUUID } from 'node:crypto'
import type { MessageRecord } from '@parley/dispatcher/message/message-record'
import { type Auditor, startAuditor } from '@parley/dispatcher/reconciliation/auditor'
import { type Balance, balance, countMessages } from '@parley/dispatcher/reconciliation/count'
import { collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { RecentlyStored } from '@parley/dispatcher/store/recently-stored'
import { eventually } from '@parley/local/testing/service-under-test'
import { declareTestLayout, TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { connectBroker } from '@parley/shared/messaging/connection'
import { slotKey } from '@parley/shared/messaging/layout'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { declareDispatcherTopology, MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connectMongo } from '@parley/shared/mongo'
import { type ConsumeMessage, connect } from 'amqplib'
import { newRecord } from '../new-record.ts'

const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000
const GRACE_MS = 1_000

/** A log stream, a store, and auditors between them; what a dispatcher would store, the test stores itself. */
export async function startAuditWorld() {
  const { mongoUrl, amqpUrl } = await testServers()
  const log = createLog({ service: 'test', level: 'silent' })
  const database = connectMongo({
    url: mongoUrl,
    database: freshDatabase('dispatcher'),
    log,
    prepare: (connection) => prepareDatabase(connection, TEST_LAYOUT.partitions),
  })
  await database.ready
  const collections = collectionsOf(database.connection)
  const broker = await connectBroker({
    url: amqpUrl,
    declare: async (channel) => {
      await declareDispatcherTopology(channel)
      await declareTestLayout(channel)
    },
    log,
  })
  const publisher = createPublisher({ broker, log })
  await eventually(() => publisher.isUp())
  const connection = await connect(amqpUrl)
  const channel = await connection.createConfirmChannel()
  const auditors = new Set<Auditor>()
  const startSession = (options = {}) => database.connection.getClient().startSession(options)
  const recentlyStored = new RecentlyStored()
  const world = {
    collections,
    recentlyStored,
    connection: database.connection,
    channel,
    startSession,
    /** Starts an instance's auditor; messages count as lost a second after their queue ran empty. */
    start(retentionMs = RETENTION_MS): Auditor {
      const instance = randomUUID()
      const auditor = startAuditor({
        collections,
        startSession,
        instance,
        broker,
        publisher,
        recentlyStored,
        declare: broker.declare,
        retentionMs,
        graceMs: GRACE_MS,
        times: { auditCheck: 250, auditBehind: 500, auditAgain: 200 },
        log,
      })
      auditors.add(auditor)
      broker.follow(auditor)
      return auditor
    },
    async stop() {
      await Promise.all([...auditors].map((auditor) => auditor.close()))
      auditors.clear()
    },
    /** Takes the next message out of a partition's queue, without storing it. */
    async take(partition: number): Promise<ConsumeMessage> {
      const taken = Promise.withResolvers<ConsumeMessage>()
      const { consumerTag } = await channel.consume(
        testQueue(partition),
        (delivery) => delivery !== null && taken.resolve(delivery),
        { noAck: true },
      )
      const delivery = await taken.promise
      await channel.cancel(consumerTag)
      return delivery
    },
    /** Accepts a message, as intake does, `age` milliseconds ago. */
    async accept(messageId: string, options: { partition?: number; age?: number; type?: string } = {}) {
      const { partition = 0, age = 0, type = MESSAGE_TYPE } = options
      channel.publish(MESSAGES_EXCHANGE, slotKey(partition), Buffer.from('{}'), {
        messageId,
        type,
        persistent: true,
        contentType: 'application/json',
        timestamp: Math.floor((Date.now() - age) / 1_000),
        headers: { workspace: 1, channel: 'c', thread: 't', source: 'api' },
      })
      await channel.waitForConfirms()
    },
    store: (_id: string, change: Partial<MessageRecord> = {}) =>
      collections.messages.insertOne(newRecord({ _id, receivedAt: new Date(), ...change })),
    async balance(): Promise<Balance> {
      const session = startSession({ snapshot: true })
      try {
        const options = { counted: { workspace: 1 }, by: 'channel', session, now: Date.now() } as const
        return balance(await countMessages(collections, options))
      } finally {
        await session.endSession()
      }
    },
    audited: () => collections.audited.countDocuments({}, { readConcern: { level: 'majority' } }),
    checkedAt: async () => (await collections.audit.findOne({ _id: 'log' }))?.checkedAt,
    difference: async () => (await collections.audit.findOne({ _id: 'log' }))?.difference,
    async close() {
      await world.stop()
      await connection.close()
      await publisher.close()
      await broker.close()
      await releaseDatabase(database.connection.db)
      await database.close()
    },
  }
  return world
}

export type AuditWorld = Awaited<ReturnType<typeof startAuditWorld>>
