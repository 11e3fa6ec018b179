import { z } from 'zod'
import type { ResourceName } from '../configuration-resources.ts'
import { documentChange } from '../document-change.ts'
import type { Log } from '../log.ts'
import { type Consumer, consumeBatches } from '../messaging/consumer.ts'
import { parseJson } from '../parse-json.ts'
import type { ReplicaStore } from './replica-store.ts'

/**
 * Consumes a queue of changes to configuration documents (see `declareChanges`): stores each version, also of documents
 * not stored yet, and then has the memory of this process read it. While the database is unavailable a batch is tried
 * again each half second, and the rest stays in the queue. What can't be understood is logged and left out. The queue is
 * bounded, so changes may be missing after a long outage: a replica is also read again after some time.
 */
export function followChanges(options: {
  queue: string
  resources: readonly ResourceName[]
  store: Pick<ReplicaStore, 'save'>
  /** Gets the workspace whose document has changed, and of which resource it is. */
  replica: { changed(workspace: number, resource: string): void }
  /** Declares the queue again when it was deleted. */
  declare(): Promise<void>
  log: Log
}): Consumer {
  const { queue, resources, store, replica, declare, log } = options
  const knownChange = documentChange.extend({ resource: z.enum(resources) })
  const read = (content: Buffer) => {
    try {
      return knownChange.parse(parseJson(content.toString()))
    } catch {
      return undefined
    }
  }
  return consumeBatches({
    queue,
    declare,
    log,
    async work(batch) {
      for (const delivery of batch) {
        const change = read(delivery.content)
        if (change === undefined) {
          log.error({ messageId: delivery.properties.messageId }, 'change of a document not understood')
          continue
        }
        const { resource, workspace, _id: id, version, document } = change
        await store.save({ resource, workspace, id, version, document })
        replica.changed(workspace, resource)
      }
      return []
    },
  })
}
