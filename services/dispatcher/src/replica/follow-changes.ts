import { followChanges } from '@parley/shared/config-replica/follow-changes'
import type { ReplicaStore } from '@parley/shared/config-replica/replica-store'
import type { Log } from '@parley/shared/log'
import type { Consumer } from '@parley/shared/messaging/consumer'
import { DISPATCHER_CHANGES, declareChanges, SEALED_READERS } from '@parley/shared/messaging/topology'
import type { Channel } from 'amqplib'

/** The resources that the dispatcher works with. Configuration has the originals. */
const REPLICATED_RESOURCES = [
  'channels',
  'assistant',
  'actions',
  'jobs',
  'configs',
  'steps',
  'workflows',
  'subscriptions',
] as const

/** The same changes for the memory of one process. */
const ownChangesQueue = (instance: string): string => `${DISPATCHER_CHANGES}.${instance}`

const MAX_CHANGES = 100_000
const MAX_OWN_CHANGES = 10_000
const OWN_EXPIRES_MS = 5 * 60_000

/** Declares the queues: that of a process is deleted five minutes after the process. */
export async function declareChangeQueues(channel: Channel, instance: string): Promise<void> {
  const resources = REPLICATED_RESOURCES
  await declareChanges(channel, { queue: DISPATCHER_CHANGES, resources, maxLength: MAX_CHANGES })
  await declareChanges(channel, {
    queue: ownChangesQueue(instance),
    resources,
    maxLength: MAX_OWN_CHANGES,
    expiresMs: OWN_EXPIRES_MS,
  })
  await declareChanges(channel, { queue: SEALED_READERS, resources: [], maxLength: 1 })
}

/** Consumes the queues; whichever process takes them has the changes of the shared one. */
export function followDocumentChanges(options: {
  instance: string
  store: Pick<ReplicaStore, 'save'>
  replica: { changed(workspace: number, resource: string): void }
  declare(): Promise<void>
  log: Log
}): Consumer[] {
  const { instance, ...rest } = options
  return [DISPATCHER_CHANGES, ownChangesQueue(instance), SEALED_READERS].map((queue) =>
    followChanges({ queue, resources: REPLICATED_RESOURCES, ...rest }),
  )
}
