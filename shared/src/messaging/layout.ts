import type { Channel } from 'amqplib'
import { bindQueues, hashOf, MESSAGES_EXCHANGE, ORDERED_QUEUE } from './topology.ts'

/**
 * How many slots the threads are spread over, for good. Publishers know slots alone; a layout gives each slot to one of
 * its partitions, so the number of partitions may change without them.
 */
export const SLOTS = 256
export const MAX_PARTITIONS = 128
/** The number of partitions of versions that knew no layouts. */
export const EARLIER_PARTITIONS = 8

/** How many partitions there are; each change of the number is a generation, with queues and an exchange of its own. */
export interface Layout {
  generation: number
  partitions: number
}

/** Exists once every slot leads to a partition: until then no webhook publishes, for it would reach the log alone. */
export const SLOTS_EXCHANGE = `${MESSAGES_EXCHANGE}.slots`
/** The type of what is published last to a queue that is replaced: all that came before it is in front of it. */
export const QUEUE_END_TYPE = 'queue.end.v1'

/** The slot of a thread: the same for the same workspace and thread in every version, evenly spread over all. */
export function slotOf(workspace: number, thread: string): number {
  return hashOf(`${workspace}\0${thread}`) % SLOTS
}

/** The routing key of a slot. */
export const slotKey = (slot: number): string => `s${slot}`

const slots = new Map(Array.from({ length: SLOTS }, (_, slot) => [slotKey(slot), slot]))
for (let partition = 0; partition < EARLIER_PARTITIONS; partition++)
  slots.set(earlierKey(partition), partition)

/**
 * The slot of a routing key; undefined for what is not a message's. The key of an earlier version stands for the one
 * slot that is in its partition under whatever number divides that version's.
 */
export const slotOfKey = (key: string): number | undefined => slots.get(key)

/** The partition that works a slot. */
export const partitionOfSlot = (slot: number, { partitions }: Pick<Layout, 'partitions'>): number =>
  slot % partitions

/** The queue of one partition. Those of the first generation are named as those of versions without layouts. */
export function partitionQueue({ generation, partition }: { generation: number; partition: number }): string {
  return generation === 1
    ? `${MESSAGES_EXCHANGE}.p${partition}`
    : `${MESSAGES_EXCHANGE}.g${generation}.p${partition}`
}

/** The queues of all partitions of a layout. */
export const partitionQueues = ({ generation, partitions }: Layout): string[] =>
  Array.from({ length: partitions }, (_, partition) => partitionQueue({ generation, partition }))

/** Direct exchange that leads from each slot's key to the queue of its partition. */
export const layoutExchange = ({ generation }: Pick<Layout, 'generation'>): string =>
  `${MESSAGES_EXCHANGE}.g${generation}`

/** Declares the queues of a layout and the exchange that leads to them; nothing that is published gets there yet. */
export async function declareLayout(channel: Channel, layout: Layout): Promise<void> {
  const exchange = layoutExchange(layout)
  await channel.assertExchange(exchange, 'direct', { durable: true })
  const queues = partitionQueues(layout)
  for (const queue of queues) await channel.assertQueue(queue, ORDERED_QUEUE)
  const bindings = Array.from({ length: SLOTS }, (_, slot) => {
    const partition = partitionOfSlot(slot, layout)
    return { queue: partitionQueue({ ...layout, partition }), key: slotKey(slot) }
  })
  await bindQueues(channel, exchange, bindings)
}

/** From here on what is published reaches the queues of a layout that is declared. */
export async function connectLayout(channel: Channel, layout: Layout): Promise<void> {
  await channel.bindExchange(layoutExchange(layout), MESSAGES_EXCHANGE, '#')
}

/** Has publishers begin, once a layout is connected. */
export async function announceSlots(channel: Channel): Promise<void> {
  await channel.assertExchange(SLOTS_EXCHANGE, 'direct', { durable: true })
}

/** From here on what is published does not reach the queues of a layout any more; harmless where it did not. */
export async function disconnectLayout(channel: Channel, layout: Layout): Promise<void> {
  await channel.unbindExchange(layoutExchange(layout), MESSAGES_EXCHANGE, '#')
  if (layout.generation > 1) return
  for (let partition = 0; partition < EARLIER_PARTITIONS; partition++)
    await channel.unbindQueue(
      partitionQueue({ ...layout, partition }),
      MESSAGES_EXCHANGE,
      earlierKey(partition),
    )
}

/** Has what versions without layouts publish reach the queues of the first generation. */
export async function connectEarlierKeys(channel: Channel): Promise<void> {
  for (let partition = 0; partition < EARLIER_PARTITIONS; partition++) {
    const queue = partitionQueue({ generation: 1, partition })
    await channel.bindQueue(queue, MESSAGES_EXCHANGE, earlierKey(partition))
  }
}

/** Rejects with the broker's 404 until slots are announced. */
export async function requireSlots(channel: Channel): Promise<void> {
  await channel.checkExchange(SLOTS_EXCHANGE)
}

function earlierKey(partition: number): string {
  return `p${partition}`
}
