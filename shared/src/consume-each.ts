import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib'
import { openConfirmChannel } from './broker.ts'
import { type Consumer, publishedAt } from './consume-batches.ts'
import type { Log } from './log.ts'

/** What is consumed, and how. */
export interface EachOptions {
  queue: string
  /** How many may be under way. */
  prefetch: number
  /** Whether taking is still ours to do. */
  held(): boolean
  /** Resolves once the delivery is safe, and rejects when it is left to the next consumer. Given in order. */
  take(delivery: ConsumeMessage, channel: ConfirmChannel): Promise<void>
  log: Log
}

/** What acking needs of a delivery: its contents may be large, and are done with before. */
interface UnderWay {
  delivery: ConsumeMessage
  safe: boolean
}

const NOTHING = Buffer.alloc(0)

/**
 * Consumes a queue as it arrives, without waiting for what came before. What is safe is acked in the order of
 * arrival, many with one ack. After one that is left the channel is closed: all behind it come again.
 */
export async function consumeEach(
  options: EachOptions & { connection: ChannelModel; closed(): void },
): Promise<Consumer> {
  const { connection, queue, prefetch, held, log } = options
  const channel = await openConfirmChannel(connection, log)
  const underWay: UnderWay[] = []
  let taking = 0
  let settled = () => {}
  let open = true
  let acking = false
  const end = () => channel.close().catch(() => {})
  const ack = () => {
    acking = false
    const first = underWay.findIndex(({ safe }) => !safe)
    const last = underWay.splice(0, first < 0 ? underWay.length : first).at(-1)
    if (last !== undefined && open) channel.ack(last.delivery, true)
  }
  const safe = (one: UnderWay) => {
    one.safe = true
    if (acking || underWay[0]?.safe !== true) return
    acking = true
    setImmediate(ack)
  }
  channel.once('close', () => {
    open = false
    underWay.length = 0
    options.closed()
  })
  let closing = false
  const close = async () => {
    closing = true
    if (taking > 0) await new Promise<void>((resolve) => (settled = resolve))
    if (open) ack()
    await end()
  }
  await channel.prefetch(prefetch)
  await channel.consume(queue, (delivery) => {
    if (delivery === null) return void close()
    if (!open || closing) return
    // What is not acked would stay here for good, should taking be ours again.
    if (!held()) return void end()
    const { fields, properties } = delivery
    const one = { delivery: { fields, properties, content: NOTHING }, safe: false }
    underWay.push(one)
    taking++
    options
      .take(delivery, channel)
      .then(
        () => safe(one),
        (error: unknown) => {
          log.debug({ queue, reason: error instanceof Error ? error.message : 'unknown' }, 'delivery left')
          if (!closing) void end()
        },
      )
      .then(() => {
        if (--taking === 0) settled()
      })
  })
  return {
    oldestAt: () => publishedAt(underWay[0]?.delivery),
    close,
    abandon: () => void end(),
  }
}
