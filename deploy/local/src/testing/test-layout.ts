import {
  announceSlots,
  connectLayout,
  declareLayout,
  type Layout,
  partitionQueue,
} from '@parley/shared/messaging/layout'
import { declareTopology } from '@parley/shared/messaging/topology'
import { type Channel, connect } from 'amqplib'

/** The layout that the dispatchers of tests begin with: their `PARTITIONS` says the same. */
export const TEST_LAYOUT: Layout = { generation: 1, partitions: 8 }

/** The queue of one of its partitions. */
export const testQueue = (partition: number): string =>
  partitionQueue({ generation: TEST_LAYOUT.generation, partition })

/** Declares what messages are published to, as a dispatcher does. */
export async function declareTestLayout(channel: Channel): Promise<void> {
  await declareTopology(channel)
  await declareLayout(channel, TEST_LAYOUT)
  await connectLayout(channel, TEST_LAYOUT)
  await announceSlots(channel)
}

/** The same at the broker of this address, for services that are started before a dispatcher, or without one. */
export async function declareTestLayoutAt(url: string): Promise<void> {
  const connection = await connect(url)
  await declareTestLayout(await connection.createChannel())
  await connection.close()
}
