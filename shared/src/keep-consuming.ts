import type { ChannelModel } from 'amqplib'
import { type ConsumeOptions, type Consumer, consumeBatches } from './consume-batches.ts'

const PAUSE_MS = 500

/** A consumer that outlives its channel and its connection. */
export interface KeptConsumer {
  /** Consumes on this connection from now on. */
  attach(connection: ChannelModel): void
  /** When the oldest of what is not worked yet was published, in milliseconds since the epoch. */
  oldestAt(): number | undefined
  /** Whether a channel consumes at the moment. */
  isConsuming(): boolean
  /** Lets the batch under way end, and stops. */
  close(): Promise<void>
  /** Stops at once. */
  abandon(): void
}

/**
 * Consumes a queue as long as `held` says: a channel that was closed on a live connection is opened anew after
 * half a second, and a new connection is told by `attach`.
 */
export function keepConsuming(options: ConsumeOptions): KeptConsumer {
  const { queue, held, log } = options
  let connection: ChannelModel | undefined
  let consumer: Consumer | undefined
  let retry: NodeJS.Timeout | undefined
  let stopped = false
  const active = () => !stopped && held()
  const start = async (model: ChannelModel) => {
    if (!active() || connection !== model || consumer !== undefined) return
    try {
      consumer = await consumeBatches({
        ...options,
        connection: model,
        closed: () => {
          consumer = undefined
          again(model)
        },
      })
      if (!active()) consumer.abandon()
    } catch (error) {
      log.warn({ queue, reason: error instanceof Error ? error.message : 'unknown' }, 'queue not consumed')
      again(model)
    }
  }
  const again = (model: ChannelModel) => {
    clearTimeout(retry)
    retry = setTimeout(() => void start(model), PAUSE_MS)
  }
  const stop = () => {
    stopped = true
    clearTimeout(retry)
  }
  return {
    attach(model) {
      connection = model
      consumer = undefined
      void start(model)
    },
    oldestAt: () => consumer?.oldestAt(),
    isConsuming: () => consumer !== undefined,
    async close() {
      stop()
      await consumer?.close()
    },
    abandon() {
      stop()
      consumer?.abandon()
    },
  }
}
