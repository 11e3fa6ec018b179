import { DISPATCHER_EXCHANGE, partitionQueue } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib'
import type { AuditedMessage, Trace } from '../store/audit-records.ts'
import { offsetOf } from './log-entry.ts'
import { readLogged } from './read-logged.ts'

const CONFIRM_MS = 4_500

export type Lost = Pick<AuditedMessage, '_id'> & { trace: Trace }

/**
 * Puts lost messages, as the log has them, back into the queues of their partitions under their own ids: one that
 * was only late is recognised there. Returns the ids that the broker has confirmed and those that the log does not
 * have any more; of the rest nothing is known yet.
 */
export async function publishAgain(options: {
  lost: Lost[]
  connection: ChannelModel
  channel: ConfirmChannel
  log: Log
}): Promise<{ published: string[]; gone: string[] }> {
  const { connection, channel, log } = options
  const lost = options.lost.toSorted((a, b) => a.trace.offset - b.trace.offset)
  const logged = await readLogged({ connection, offsets: lost.map(({ trace }) => trace.offset), log })
  const found = new Map(logged.map((delivery) => [offsetOf(delivery), delivery]))
  const furthest = Math.max(...found.keys())
  const published: string[] = []
  const gone: string[] = []
  for (const { _id, trace } of lost) {
    const delivery = found.get(trace.offset)
    if (delivery?.properties.messageId === _id) {
      await confirmed(channel, partitionQueue(trace.partition), delivery)
      published.push(_id)
    } else if (delivery !== undefined || trace.offset < furthest) gone.push(_id)
  }
  return { published, gone }
}

function confirmed(channel: ConfirmChannel, queue: string, delivery: ConsumeMessage): Promise<void> {
  const { 'x-stream-offset': _offset, ...headers } = delivery.properties.headers ?? {}
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the broker has not confirmed')), CONFIRM_MS)
    channel.publish(
      DISPATCHER_EXCHANGE,
      queue,
      delivery.content,
      { ...delivery.properties, persistent: true, headers },
      (error) => {
        clearTimeout(late)
        if (error) reject(error)
        else resolve()
      },
    )
  })
}
