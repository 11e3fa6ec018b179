import { randomUUID } from 'node:crypto'
import { eventually } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { slotKey } from '@parley/shared/messaging/layout'
import {
  MESSAGES_EXCHANGE,
  NOTICE_KEY,
  NOTICE_QUEUE,
  STATUS_PARTITIONS,
  statusKey,
  statusQueue,
} from '@parley/shared/messaging/topology'
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib'

export interface Taken {
  queue: string
  delivery: ConsumeMessage
}

const QUEUES = [
  ...Array.from({ length: TEST_LAYOUT.partitions }, (_, at) => ({ queue: testQueue(at), key: slotKey(at) })),
  ...Array.from({ length: STATUS_PARTITIONS }, (_, at) => ({ queue: statusQueue(at), key: statusKey(at) })),
  { queue: NOTICE_QUEUE, key: NOTICE_KEY },
]

/** Takes from every queue. A marker in each says that all before it has come. */
export async function startTaking(connection: ChannelModel): Promise<{ drain(): Promise<Taken[]> }> {
  const channel: Channel = await connection.createChannel()
  const taken: Taken[] = []
  for (const { queue } of QUEUES) {
    const take = (delivery: ConsumeMessage | null) => {
      if (delivery !== null) taken.push({ queue, delivery })
    }
    await channel.consume(queue, take, { noAck: true })
  }
  return {
    async drain() {
      const marker = `marker-${randomUUID()}`
      for (const { key } of QUEUES) {
        channel.publish(MESSAGES_EXCHANGE, key, Buffer.from(''), { messageId: marker })
      }
      const isMarker = ({ delivery }: Taken) => delivery.properties.messageId === marker
      await eventually(() => taken.filter(isMarker).length === QUEUES.length)
      return taken.splice(0).filter((one) => !isMarker(one))
    },
  }
}
