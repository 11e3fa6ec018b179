import type { ConsumeMessage } from 'amqplib'
import { z } from 'zod'
import { documentChange } from '../document-change.ts'
import type { Log } from '../log.ts'
import { parseJson } from '../parse-json.ts'
import type { Replica } from './replica.ts'
import type { ReplicaStore, ReplicatedResource } from './replica-store.ts'

/**
 * Makes the worker of a queue of changes: stores each version, also of documents not stored yet, and then has the
 * memory of this process read it. Rejects while the database is unavailable; what can't be understood is logged.
 */
export function workChanges(options: {
  resources: readonly ReplicatedResource[]
  store: Pick<ReplicaStore, 'save'>
  replica: Pick<Replica, 'changed'>
  log: Log
}): (batch: ConsumeMessage[]) => Promise<void> {
  const { resources, store, replica, log } = options
  const knownChange = documentChange.extend({ resource: z.enum(resources) })
  const read = (content: Buffer) => {
    try {
      return knownChange.parse(parseJson(content.toString()))
    } catch {
      return undefined
    }
  }
  return async (batch) => {
    for (const delivery of batch) {
      const change = read(delivery.content)
      if (change === undefined) {
        log.error({ messageId: delivery.properties.messageId }, 'change of a document not understood')
        continue
      }
      const { resource, workspace, _id: id, version, document } = change
      await store.save({ resource, workspace, id, version, document })
      replica.changed(workspace)
    }
  }
}
