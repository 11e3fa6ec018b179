import type { Broker } from '@parley/shared/messaging/connection'
import { layoutExchange, slotKey, slotOf, slotOfKey } from '@parley/shared/messaging/layout'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { LOG_QUEUE } from '@parley/shared/messaging/topology'
import type { Channel, ConsumeMessage } from 'amqplib'
import type { AuditedMessage, MissingTrace } from '../store/audit-records.ts'
import { connectedLayout, type Layouts, readLayout } from '../store/layout-record.ts'
import { offsetOf } from './read-log.ts'

const PREFETCH = 50
const SPAN = 2_000
const READ_MS = 5_000

export type LostMessage = Pick<AuditedMessage, '_id'> & { trace: MissingTrace }

/**
 * Puts lost messages, as the log has them, back into the queues that their keys lead to under their own ids: one that
 * was only late is recognised there. Returns the ids that the broker has confirmed and those that the log does not
 * have any more; of the rest nothing is known yet.
 */
export async function publishAgain(options: {
  lost: LostMessage[]
  broker: Pick<Broker, 'withChannel'>
  publisher: Pick<Publisher, 'publish'>
  layouts: Layouts
}): Promise<{ published: string[]; gone: string[] }> {
  const { broker, publisher, layouts } = options
  const lost = options.lost.toSorted((a, b) => a.trace.offset - b.trace.offset)
  const offsets = lost.map(({ trace }) => trace.offset)
  const { logged, readTo } = await broker.withChannel((channel) => readLogged(channel, offsets))
  const found = new Map(logged.map((delivery) => [offsetOf(delivery), delivery]))
  const exchange = layoutExchange(connectedLayout(await readLayout(layouts)))
  const published: string[] = []
  const gone: string[] = []
  for (const { _id, trace } of lost) {
    const delivery = found.get(trace.offset)
    if (delivery?.properties.messageId === _id) {
      await publishTo(publisher, exchange, delivery)
      published.push(_id)
    } else if (delivery !== undefined || trace.offset < readTo) gone.push(_id)
  }
  return { published, gone }
}

/**
 * Reads messages, with their bodies, from the log stream again: those of `offsets` (ascending) that lie within
 * 2,000 entries of the first, as far as they can be read within 5 s, and up to which offset it was read. The stream may
 * have dropped some, and then it begins behind them.
 */
async function readLogged(
  channel: Channel,
  offsets: number[],
): Promise<{ logged: ConsumeMessage[]; readTo: number }> {
  const [first = 0] = offsets
  const missing = new Set(offsets.filter((offset) => offset < first + SPAN))
  const last = Math.max(...missing)
  const logged: ConsumeMessage[] = []
  let readTo = -1
  await channel.prefetch(PREFETCH)
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(resolve, READ_MS)
    const done = () => {
      clearTimeout(late)
      resolve()
    }
    channel.once('close', done)
    const take = (delivery: ConsumeMessage | null) => {
      // Others come until the channel is closed.
      if (delivery === null || readTo >= last) return done()
      readTo = offsetOf(delivery)
      if (missing.has(readTo)) logged.push(delivery)
      if (readTo >= last) return done()
      channel.ack(delivery)
    }
    channel.consume(LOG_QUEUE, take, { arguments: { 'x-stream-offset': first } }).catch(reject)
  })
  return { logged, readTo }
}

function publishTo(
  publisher: Pick<Publisher, 'publish'>,
  exchange: string,
  { content, properties, fields }: ConsumeMessage,
): Promise<void> {
  const { 'x-stream-offset': _offset, ...headers } = properties.headers ?? {}
  return publisher.publish({
    ...properties,
    exchange,
    routingKey: slotKeyOf(fields.routingKey, headers),
    body: content,
    headers,
    mandatory: true,
  })
}

/** The key of an earlier version does not say which slot the thread has. */
function slotKeyOf(routingKey: string, { workspace, thread }: Record<string, unknown>): string {
  const slot = slotOfKey(routingKey) ?? 0
  if (slotKey(slot) === routingKey) return routingKey
  const isNamed = typeof workspace === 'number' && typeof thread === 'string'
  return slotKey(isNamed ? slotOf(workspace, thread) : slot)
}
