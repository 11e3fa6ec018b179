import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib'
import { openConfirmChannel } from './broker.ts'
import type { Log } from './log.ts'

const PREFETCH = 100
const WORK_AGAIN_MS = 500

export interface Consumer {
  /** When the oldest of what is not worked yet was published, in milliseconds since the epoch; undefined
   * when there is none, or when it does not say. */
  oldestAt(): number | undefined
  /** Lets the batch under way end, then closes the channel: what is not acked goes to the next consumer. */
  close(): Promise<void>
  /** Closes the channel at once. */
  abandon(): void
}

/** What is consumed, and how. */
export interface ConsumeOptions {
  queue: string
  /** The largest batch; 100 unless told. */
  prefetch?: number
  /** The arguments of the consumer, asked for on each new channel. */
  consumerArguments?(): Promise<Record<string, unknown>>
  /** A channel consumes now. */
  consuming?(channel: ConfirmChannel): void
  /** What is held of a delivery until it is worked; all of it unless told. */
  keep?(delivery: ConsumeMessage): ConsumeMessage
  /** Whether working is still ours to do. */
  held(): boolean
  /** Works a batch whole, or rejects: then the same batch comes again. */
  work(batch: ConsumeMessage[], channel: ConfirmChannel): Promise<void>
  log: Log
}

interface BatchOptions extends ConsumeOptions {
  connection: ChannelModel
  closed(): void
}

/** Consumes a queue in batches, one at a time; a batch is acked once it is worked. */
export async function consumeBatches(options: BatchOptions): Promise<Consumer> {
  const { connection, queue, log, keep = (delivery: ConsumeMessage) => delivery } = options
  const args = await options.consumerArguments?.()
  const channel = await openConfirmChannel(connection, log)
  let open = true
  let pending: ConsumeMessage[] = []
  let working: Promise<void> | undefined
  let inHand: ConsumeMessage | undefined
  const usable = () => open && options.held()
  const workAll = async () => {
    while (pending.length > 0 && usable()) {
      const batch = pending
      pending = []
      inHand = batch[0]
      await workAndAck({ ...options, channel, batch, usable })
      inHand = undefined
    }
    working = undefined
    // What is not acked would stay here for good, should the work be ours again.
    if (open && !options.held()) void channel.close().catch(() => {})
  }
  channel.once('close', () => {
    open = false
    pending = []
    inHand = undefined
    options.closed()
  })
  const close = async () => {
    open = false
    await working
    await channel.close().catch(() => {})
  }
  await channel.prefetch(options.prefetch ?? PREFETCH)
  const take = (delivery: ConsumeMessage | null) => {
    if (delivery === null) return void close()
    if (!open) return
    pending.push(keep(delivery))
    working ??= workAll()
  }
  options.consuming?.(channel)
  await channel.consume(queue, take, args === undefined ? {} : { arguments: args })
  return {
    oldestAt: () => publishedAt(inHand ?? pending[0]),
    close,
    abandon: () => void channel.close().catch(() => {}),
  }
}

/** When a delivery was published, in milliseconds since the epoch, as far as it says so. */
export function publishedAt(delivery: ConsumeMessage | undefined): number | undefined {
  const seconds: unknown = delivery?.properties.timestamp
  return typeof seconds === 'number' ? seconds * 1_000 : undefined
}

async function workAndAck(
  options: BatchOptions & { channel: ConfirmChannel; batch: ConsumeMessage[]; usable(): boolean },
): Promise<void> {
  const { channel, batch, queue, usable, log } = options
  while (usable()) {
    try {
      await options.work(batch, channel)
      const last = batch.at(-1)
      if (last !== undefined && usable()) channel.ack(last, true)
      return
    } catch (error) {
      log.warn({ queue, reason: error instanceof Error ? error.message : 'unknown' }, 'batch not worked yet')
      await new Promise((resolve) => setTimeout(resolve, WORK_AGAIN_MS))
    }
  }
}
