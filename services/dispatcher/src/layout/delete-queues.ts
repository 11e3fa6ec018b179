import type { Broker } from '@parley/shared/messaging/connection'
import {
  type Layout,
  layoutExchange,
  partitionQueues,
  QUEUE_END_TYPE,
  slotKey,
  slotOf,
} from '@parley/shared/messaging/layout'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { ORDERED_QUEUE } from '@parley/shared/messaging/topology'
import type { Channel, ConsumeMessage } from 'amqplib'

const EMPTY_MS = 10_000

interface DeleteOptions {
  broker: Pick<Broker, 'withChannel'>
  publisher: Pick<Publisher, 'publish'>
}

/**
 * Deletes the queues of the layout before, and the exchange that led to them. What one still has, as ends that came after
 * the first or what its last consumer did not acknowledge, goes to the present queues: the store knows what it has.
 */
export async function deleteQueues(
  { broker, publisher }: DeleteOptions,
  { previous, present }: { previous: Layout; present: Layout },
): Promise<void> {
  await broker.withChannel(async (channel) => {
    for (const queue of partitionQueues(previous)) {
      const { messageCount } = await channel.assertQueue(queue, ORDERED_QUEUE)
      const publish = (delivery: ConsumeMessage) => publishAs(publisher, present, delivery)
      if (messageCount > 0) await moveAll(channel, { queue, messageCount, publish })
      await channel.deleteQueue(queue)
    }
    await channel.deleteExchange(layoutExchange(previous))
  })
}

/** Consumes, for nothing else may take from a queue with a single active consumer. Rejects when it takes too long. */
async function moveAll(
  channel: Channel,
  options: { queue: string; messageCount: number; publish(delivery: ConsumeMessage): Promise<void> },
): Promise<void> {
  const { queue, messageCount, publish } = options
  const moved = Promise.withResolvers<void>()
  let left = messageCount
  // It is awaited only once the broker consumes, and may be late before.
  moved.promise.catch(() => undefined)
  const late = setTimeout(() => moved.reject(new Error(`${queue} is not empty yet`)), EMPTY_MS)
  const take = (delivery: ConsumeMessage | null) => {
    if (delivery === null) return moved.reject(new Error(`${queue} is consumed no more`))
    publish(delivery).then(() => {
      channel.ack(delivery)
      if (--left === 0) moved.resolve()
    }, moved.reject)
  }
  try {
    const { consumerTag } = await channel.consume(queue, take)
    await moved.promise
    await channel.cancel(consumerTag)
  } finally {
    clearTimeout(late)
  }
}

async function publishAs(
  publisher: Pick<Publisher, 'publish'>,
  present: Layout,
  { content, properties, fields }: ConsumeMessage,
): Promise<void> {
  if (properties.type === QUEUE_END_TYPE) return
  const { workspace, thread } = properties.headers ?? {}
  const isNamed = typeof workspace === 'number' && typeof thread === 'string'
  await publisher.publish({
    ...properties,
    exchange: layoutExchange(present),
    routingKey: isNamed ? slotKey(slotOf(workspace, thread)) : fields.routingKey,
    body: content,
  })
}
