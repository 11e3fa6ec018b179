import type { ConsumeMessage } from 'amqplib'
import type { z } from 'zod'
import type { Log } from '../log.ts'
import { parseJson } from '../parse-json.ts'
import { type Consumer, consumeBatches } from './consumer.ts'

/**
 * Follows the changes to configuration documents that arrive in `queue` (see `declareChanges`): each one is applied in
 * order and then acked. While `apply` rejects (the database is unavailable) its batch is tried again each half second,
 * and the rest stays in the queue. What `schema` does not understand is logged and left out. The queue is bounded, so
 * changes may be missing after a long outage: whoever follows must also read documents again after some time.
 */
export function followChanges<Change>(options: {
  queue: string
  schema: z.ZodType<Change>
  apply(change: Change): Promise<void>
  log: Log
}): Consumer {
  const { queue, schema, apply, log } = options
  return consumeBatches({
    queue,
    log,
    async work(batch) {
      for (const delivery of batch) {
        const change = readChange(schema, delivery)
        if (change !== undefined) await apply(change)
        else log.error({ messageId: delivery.properties.messageId }, 'change of a document not understood')
      }
      return []
    },
  })
}

function readChange<Change>(
  schema: z.ZodType<Change>,
  { content }: Pick<ConsumeMessage, 'content'>,
): Change | undefined {
  try {
    return schema.parse(parseJson(content.toString()))
  } catch {
    return undefined
  }
}
