import type { Broker } from '@parley/shared/messaging/connection'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { DISPATCHER_EXCHANGE, LOG_QUEUE, partitionQueue } from '@parley/shared/messaging/topology'
import type { Channel, ConsumeMessage } from 'amqplib'
import type { AuditedMessage, MissingTrace } from '../store/audit-records.ts'
import { offsetOf } from './read-log.ts'

const PREFETCH = 50
const SPAN = 2_000
const READ_MS = 5_000

export type LostMessage = Pick<AuditedMessage, '_id'> & { trace: MissingTrace }

/**
 * Puts lost messages, as the log has them, back into the queues of their partitions under their own ids: one that
 * was only late is recognised there. Returns the ids that the broker has confirmed and those that the log does not
 * have any more; of the rest nothing is known yet.
 */
export async function publishAgain(options: {
  lost: LostMessage[]
  broker: Pick<Broker, 'withChannel'>
  publisher: Pick<Publisher, 'publish'>
}): Promise<{ published: string[]; gone: string[] }> {
  const { broker, publisher } = options
  const lost = options.lost.toSorted((a, b) => a.trace.offset - b.trace.offset)
  const offsets = lost.map(({ trace }) => trace.offset)
  const logged = await broker.withChannel((channel) => readLogged(channel, offsets))
  const found = new Map(logged.map((delivery) => [offsetOf(delivery), delivery]))
  const furthest = Math.max(...found.keys())
  const published: string[] = []
  const gone: string[] = []
  for (const { _id, trace } of lost) {
    const delivery = found.get(trace.offset)
    if (delivery?.properties.messageId === _id) {
      await publishTo(publisher, partitionQueue(trace.partition), delivery)
      published.push(_id)
    } else if (delivery !== undefined || trace.offset < furthest) gone.push(_id)
  }
  return { published, gone }
}

/**
 * Reads messages, with their bodies, from the log stream again: those of `offsets` (ascending) that lie within
 * 2,000 entries of the first, as far as they can be read within 5 s. The stream may have dropped some.
 */
async function readLogged(channel: Channel, offsets: number[]): Promise<ConsumeMessage[]> {
  const [first = 0] = offsets
  const missing = new Set(offsets.filter((offset) => offset < first + SPAN))
  const last = Math.max(...missing)
  const found: ConsumeMessage[] = []
  await channel.prefetch(PREFETCH)
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(resolve, READ_MS)
    const done = () => {
      clearTimeout(late)
      resolve()
    }
    channel.once('close', done)
    const take = (delivery: ConsumeMessage | null) => {
      if (delivery === null) return done()
      if (missing.has(offsetOf(delivery))) found.push(delivery)
      if (offsetOf(delivery) >= last) return done()
      channel.ack(delivery)
    }
    channel.consume(LOG_QUEUE, take, { arguments: { 'x-stream-offset': first } }).catch(reject)
  })
  return found
}

function publishTo(
  publisher: Pick<Publisher, 'publish'>,
  queue: string,
  { content, properties }: ConsumeMessage,
): Promise<void> {
  const { 'x-stream-offset': _offset, ...headers } = properties.headers ?? {}
  return publisher.publish({
    ...properties,
    exchange: DISPATCHER_EXCHANGE,
    routingKey: queue,
    body: content,
    headers,
    mandatory: true,
  })
}
