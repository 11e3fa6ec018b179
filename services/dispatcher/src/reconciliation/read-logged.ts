import { LOG_QUEUE, openChannel } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import type { ChannelModel, ConsumeMessage } from 'amqplib'
import { offsetOf } from './log-entry.ts'

const PREFETCH = 50
const SPAN = 2_000
const READ_MS = 5_000

/**
 * Reads messages, with their bodies, from the log stream again: those of `offsets` (ascending) that lie within
 * 2,000 entries of the first, as far as they can be read within 5 s. The stream may have dropped some.
 */
export async function readLogged(options: {
  connection: ChannelModel
  offsets: number[]
  log: Log
}): Promise<ConsumeMessage[]> {
  const { connection, offsets, log } = options
  const [first = 0] = offsets
  const missing = new Set(offsets.filter((offset) => offset < first + SPAN))
  const last = Math.max(...missing)
  const channel = await openChannel(connection, log)
  const found: ConsumeMessage[] = []
  try {
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
  } finally {
    await channel.close().catch(() => {})
  }
}
