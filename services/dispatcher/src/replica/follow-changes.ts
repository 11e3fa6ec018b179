import { CONFIGURATION_EXCHANGE } from '@parley/shared/broker'
import type { Channel } from 'amqplib'

/** The resources that the dispatcher works with. Configuration has the originals. */
export const REPLICATED_RESOURCES = ['channels', 'assistant', 'actions', 'jobs'] as const

/** Changes to the configuration for the replicas in the database: whichever process takes them. */
export const CHANGES_QUEUE = 'dispatcher.configuration'
/** The same changes for the memory of one process. */
export const ownChangesQueue = (instance: string): string => `${CHANGES_QUEUE}.${instance}`

const DELIVERY_LIMIT = 100_000
const MAX_CHANGES = 100_000
const MAX_OWN_CHANGES = 10_000
const OWN_EXPIRES_MS = 5 * 60_000

/**
 * Declares both queues. Beyond their bounds the oldest changes are dropped, for replicas are read again each minute;
 * the queue of a process goes five minutes after the process.
 */
export async function declareChangeQueues(channel: Channel, instance: string): Promise<void> {
  await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
  const kind = { 'x-queue-type': 'quorum', 'x-delivery-limit': DELIVERY_LIMIT }
  const queues = {
    [CHANGES_QUEUE]: { ...kind, 'x-max-length': MAX_CHANGES },
    [ownChangesQueue(instance)]: { ...kind, 'x-max-length': MAX_OWN_CHANGES, 'x-expires': OWN_EXPIRES_MS },
  }
  for (const [queue, args] of Object.entries(queues)) {
    await channel.assertQueue(queue, { durable: true, arguments: args })
    for (const resource of REPLICATED_RESOURCES)
      await channel.bindQueue(queue, CONFIGURATION_EXCHANGE, `${resource}.*`)
  }
}
