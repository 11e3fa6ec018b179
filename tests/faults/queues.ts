import { partitionQueues } from '@parley/shared/messaging/layout'
import {
  DEAD_LETTER_QUEUE,
  NOTICE_QUEUE,
  PEOPLE_QUEUE,
  STATUS_QUEUES,
  TASKS_QUEUE,
} from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'

const CONNECT_MS = 5_000
const QUEUES = [
  // As many as a new system gets by default.
  ...partitionQueues({ generation: 1, partitions: 16 }),
  ...[...STATUS_QUEUES, NOTICE_QUEUE, TASKS_QUEUE, PEOPLE_QUEUE, DEAD_LETTER_QUEUE],
]

/** How many messages wait in the queues, and were rejected, as the first of the nodes says that answers. */
export async function countQueued([url, ...others]: string[]): Promise<number> {
  if (url === undefined) throw new Error('No node of the broker answers')
  return countAt(url).catch(() => countQueued(others))
}

async function countAt(amqpUrl: string): Promise<number> {
  const connection = await connect(amqpUrl, { timeout: CONNECT_MS })
  connection.on('error', () => undefined)
  try {
    const channel = await connection.createChannel()
    let queued = 0
    for (const queue of QUEUES) queued += (await channel.checkQueue(queue)).messageCount
    return queued
  } finally {
    await connection.close()
  }
}
