import { afterAll, beforeAll, beforeEach, test } from '@jest/globals'
import { type Partitions, startPartitions } from '@parley/dispatcher/schedule/partitions'
import { type Collections, collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { createLeaseStore } from '@parley/dispatcher/store/lease-store'
import { eventually } from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { createLog } from '@parley/shared/log'
import { type Broker, connectBroker } from '@parley/shared/messaging/connection'
import { connectMongo, type MongoConnection } from '@parley/shared/mongo'

const log = createLog({ service: 'test', level: 'silent' })
let database: MongoConnection
let collections: Collections

interface Instance {
  partitions: Partitions
  proxy: TcpProxy
  broker: Broker
}
let instances: Record<'a' | 'b', Instance>

beforeAll(async () => {
  const { mongoUrl } = await testServers()
  database = connectMongo({
    url: mongoUrl,
    database: freshDatabase('dispatcher'),
    log,
    prepare: (connection) => prepareDatabase(connection, TEST_LAYOUT.partitions),
  })
  await database.ready
  collections = collectionsOf(database.connection)
})
afterAll(async () => {
  for (const { partitions, broker, proxy } of Object.values(instances)) {
    await partitions.close()
    await broker.close()
    await proxy.close()
  }
  await releaseDatabase(database.connection.db)
  await database.close()
})

/** Leases and connections are real; what a partition does with them is not part of this. */
async function startInstance(name: string): Promise<Instance> {
  const target = new URL((await testServers()).amqpUrl)
  const proxy = await startTcpProxy({ host: target.hostname, port: Number(target.port) })
  target.port = String(proxy.port)
  const broker = await connectBroker({ url: target.href, declare: async () => {}, log })
  const partitions = startPartitions({
    layout: async () => TEST_LAYOUT,
    leases: createLeaseStore({ collections, instance: name }),
    instance: name,
    open: (lease) => ({
      lease,
      oldestAt: () => undefined,
      isDrained: () => false,
      waiting: async () => new Map(),
      attach: () => {},
      release: async () => {},
      abandon: () => {},
    }),
    log,
  })
  broker.follow(partitions)
  return { partitions, proxy, broker }
}

/** Throws with what each instance has, and what the store knows of both. */
async function untilShares(a: number, b: number): Promise<void> {
  const working = () => [instances.a, instances.b].map(({ partitions }) => partitions.working().size)
  try {
    await eventually(() => working().join() === `${a},${b}`)
  } catch (cause) {
    const connected = [await instances.a.broker.isUp(), await instances.b.broker.isUp()]
    const stored = [
      await collections.instances.find().toArray(),
      await collections.partitions.find().toArray(),
    ]
    throw new Error(JSON.stringify({ working: working(), connected, stored }), { cause })
  }
}

beforeEach(async () => {
  instances ??= { a: await startInstance('a'), b: await startInstance('b') }
  await untilShares(TEST_LAYOUT.partitions / 2, TEST_LAYOUT.partitions / 2)
})

test('an instance that loses the broker hands its partitions over, and gets its share back', async () => {
  instances.a.proxy.cut()
  await untilShares(0, TEST_LAYOUT.partitions)
  instances.a.proxy.mend()
  await untilShares(TEST_LAYOUT.partitions / 2, TEST_LAYOUT.partitions / 2)
})

test('while no instance has a broker, all of them go on with what is in the store', async () => {
  for (const { proxy } of Object.values(instances)) proxy.cut()
  await eventually(async () => {
    const without = await collections.instances.countDocuments({ hasBroker: false })
    return without === 2
  })
  await untilShares(TEST_LAYOUT.partitions / 2, TEST_LAYOUT.partitions / 2)
  for (const { proxy } of Object.values(instances)) proxy.mend()
})
