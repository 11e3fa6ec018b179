import { documentChange } from '@parley/shared/document-change'
import type { Log } from '@parley/shared/log'
import type { Consumer } from '@parley/shared/messaging/consumer'
import { followChanges } from '@parley/shared/messaging/follow-changes'
import { declareChanges } from '@parley/shared/messaging/topology'
import type { Channel } from 'amqplib'
import { z } from 'zod'
import { REPLICATED_RESOURCES } from '../store/document-replica.ts'
import type { Replica } from './replica.ts'
import type { ReplicaStore } from './replica-store.ts'

/** Changes to the configuration for the replicas in the database: whichever process takes them. */
const CHANGES_QUEUE = 'dispatcher.configuration'
/** The same changes for the memory of one process. */
const ownChangesQueue = (instance: string): string => `${CHANGES_QUEUE}.${instance}`

const MAX_CHANGES = 100_000
const MAX_OWN_CHANGES = 10_000
const OWN_EXPIRES_MS = 5 * 60_000

/** Declares both queues: that of a process is deleted five minutes after the process. */
export async function declareChangeQueues(channel: Channel, instance: string): Promise<void> {
  const resources = REPLICATED_RESOURCES
  await declareChanges(channel, { queue: CHANGES_QUEUE, resources, maxLength: MAX_CHANGES })
  await declareChanges(channel, {
    queue: ownChangesQueue(instance),
    resources,
    maxLength: MAX_OWN_CHANGES,
    expiresMs: OWN_EXPIRES_MS,
  })
}

const knownChange = documentChange.extend({ resource: z.enum(REPLICATED_RESOURCES) })

/** Consumes both queues: stores each change, also of documents not stored yet, then drops it from this process's memory. */
export function followDocumentChanges(options: {
  instance: string
  store: Pick<ReplicaStore, 'save'>
  replica: Pick<Replica, 'changed'>
  log: Log
}): Consumer[] {
  const { instance, store, replica, log } = options
  return [CHANGES_QUEUE, ownChangesQueue(instance)].map((queue) =>
    followChanges({
      queue,
      schema: knownChange,
      apply: async ({ resource, workspace, _id, version, document }) => {
        await store.save({ resource, workspace, id: _id, version, document })
        replica.changed(workspace)
      },
      log,
    }),
  )
}
