import type { ChannelModel } from 'amqplib'
import { type ConsumeOptions, type Consumer, consumeBatches } from './consume-batches.ts'
import { consumeEach, type EachOptions } from './consume-each.ts'

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

/** Consumes a queue in batches, one at a time, while `held` says so; see {@link consumeBatches}. */
export function keepConsuming(options: ConsumeOptions): KeptConsumer {
  return keepOpen(options, (on) => consumeBatches({ ...options, ...on }))
}

/** Consumes a queue as it arrives while `held` says so; see {@link consumeEach}. */
export function keepConsumingEach(options: EachOptions): KeptConsumer {
  return keepOpen(options, (on) => consumeEach({ ...options, ...on }))
}

/**
 * A channel that was closed on a live connection is opened anew after half a second, or once it is held again, and
 * a new connection is told by `attach`.
 */
function keepOpen(
  { queue, held, log }: Pick<ConsumeOptions, 'queue' | 'held' | 'log'>,
  open: (on: { connection: ChannelModel; closed(): void }) => Promise<Consumer>,
): KeptConsumer {
  let connection: ChannelModel | undefined
  let consumer: Consumer | undefined
  /** Stands for the consumer, also while it is still being opened. */
  let present: object | undefined
  /** Earlier consumers, whose last batch may be under way. */
  let ended: Promise<unknown> = Promise.resolve()
  let retry: NodeJS.Timeout | undefined
  let stopped = false
  const active = () => !stopped && held()
  const isWanted = (model: ChannelModel) => !stopped && connection === model && present === undefined
  const letGo = () => {
    present = undefined
    ended = Promise.all([ended, consumer?.close().catch(() => {})])
    consumer = undefined
  }
  const start = async (model: ChannelModel) => {
    if (!isWanted(model)) return
    if (!held()) return again(model)
    const own = {}
    present = own
    const lost = () => {
      if (present !== own) return
      letGo()
      again(model)
    }
    try {
      const started = await open({ connection: model, closed: lost })
      if (present === own && active()) consumer = started
      else started.abandon()
    } catch (error) {
      log.warn({ queue, reason: error instanceof Error ? error.message : 'unknown' }, 'queue not consumed')
      lost()
    }
  }
  const again = (model: ChannelModel) => {
    clearTimeout(retry)
    if (!stopped) retry = setTimeout(() => void start(model), PAUSE_MS)
  }
  const stop = () => {
    stopped = true
    clearTimeout(retry)
  }
  return {
    attach(model) {
      if (connection === model) return
      connection = model
      letGo()
      void start(model)
    },
    oldestAt: () => consumer?.oldestAt(),
    isConsuming: () => consumer !== undefined,
    async close() {
      stop()
      letGo()
      await ended
    },
    abandon() {
      stop()
      consumer?.abandon()
    },
  }
}
