import { CONFIGURATION_EXCHANGE } from '@parley/shared/broker'
import { documentChange } from '@parley/shared/document-change'
import type { Log } from '@parley/shared/log'
import { parseJson } from '@parley/shared/parse-json'
import type { Channel, ConsumeMessage } from 'amqplib'
import { z } from 'zod'
import { REPLICATED_RESOURCES } from '../store/document-replica.ts'
import type { Replica } from './replica.ts'
import type { ReplicaStore } from './replica-store.ts'

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

const knownChange = documentChange.extend({ resource: z.enum(REPLICATED_RESOURCES) })

/**
 * Makes the worker of changes: keeps them, also of documents not stored yet, and then has the memory of this process
 * read them. Rejects while the database is unavailable.
 */
export function workChanges(options: {
  store: Pick<ReplicaStore, 'save'>
  replica: Pick<Replica, 'changed'>
  log: Log
}) {
  const { store, replica, log } = options
  return async (batch: ConsumeMessage[]): Promise<void> => {
    for (const delivery of batch) {
      const change = readChange(delivery.content)
      if (change === undefined) {
        log.error({ messageId: delivery.properties.messageId }, 'change of a document not understood')
        continue
      }
      const { resource, workspace, _id, version, document } = change
      await store.save({ resource, workspace, id: _id, version, document })
      replica.changed(workspace)
    }
  }
}

function readChange(content: Buffer) {
  try {
    return knownChange.parse(parseJson(content.toString()))
  } catch {
    return undefined
  }
}
