import type { Log } from '@parley/shared/log'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import { slotOfKey } from '@parley/shared/messaging/layout'
import { LOG_QUEUE } from '@parley/shared/messaging/topology'
import type { Channel, ConsumeMessage } from 'amqplib'
import { REPLAY_TYPE } from '../message/progress.ts'
import type { LogPosition } from './audit-state.ts'

// A batch has some 40% of it: the rest comes while the one before is worked. A statement costs the database as much as some 40 ids.
const PREFETCH = 1_500
const SILENCE_MS = 5_000
const NO_BODY = Buffer.alloc(0)

/**
 * Reads the log stream from the last position on, in batches of up to 1,500 whose bodies are dropped on arrival.
 * That position's entry comes first again: when it does not, the stream is another one or was cut, and it is read
 * from its beginning or from what is left. What was read before is known by its id. `readUpTo` says up to when all that
 * was accepted has been read; undefined while nothing is.
 */
export function readLog(options: {
  /** The last entry that was read. */
  position(): Promise<LogPosition | undefined>
  /** Works a batch whole, or rejects: then the same batch comes again. */
  work(entries: LogEntry[], last: LogPosition): Promise<void>
  isLeased(): boolean
  /** The broker's node has no running replica of the stream. */
  refused(): void
  /** Declares the log again when it was deleted. */
  declare(): Promise<void>
  log: Log
}): Pick<Consumer, 'attach' | 'close'> & { readUpTo(): Date | undefined } {
  const { log } = options
  let expected: LogPosition | undefined
  let anew = false
  let silence: NodeJS.Timeout | undefined
  const readAnew = (channel: Pick<Channel, 'close'>) => {
    log.warn({ expected: expected?.offset }, 'the log stream is not the one that was read; reading it whole')
    anew = true
    return channel.close().catch(() => {})
  }
  const isAnother = (first: ConsumeMessage) => {
    if (expected === undefined) return false
    const { offset, messageId } = positionOf(first)
    if (offset > expected.offset) log.warn({ from: expected.offset, to: offset }, 'the log stream was cut')
    const another =
      offset < expected.offset || (offset === expected.offset && messageId !== expected.messageId)
    if (!another) expected = undefined
    return another
  }
  const consumer = consumeBatches({
    queue: LOG_QUEUE,
    prefetch: PREFETCH,
    consumerArguments: async () => {
      expected = anew ? undefined : await options.position()
      return { 'x-stream-offset': expected?.offset ?? 'first' }
    },
    consuming: (channel) => {
      clearTimeout(silence)
      // The expected entry is there, unless the stream is another one.
      if (expected !== undefined) silence = setTimeout(() => void readAnew(channel), SILENCE_MS)
    },
    strip: (delivery) => ({ ...delivery, content: NO_BODY }),
    isActive: options.isLeased,
    refused: options.refused,
    declare: options.declare,
    work: async (batch, channel) => {
      clearTimeout(silence)
      const [first] = batch
      const last = batch.at(-1)
      if (first === undefined || last === undefined) return []
      if (isAnother(first)) {
        await readAnew(channel)
        return []
      }
      const entries = batch.flatMap((delivery) => readLogEntry(delivery) ?? [])
      await options.work(entries, positionOf(last))
      anew = false
      return []
    },
    log,
  })
  return {
    attach: (connection) => consumer.attach(connection),
    readUpTo() {
      if (!consumer.isConsuming()) return undefined
      return new Date(consumer.oldestAt() ?? Date.now())
    },
    close: () => {
      clearTimeout(silence)
      return consumer.close()
    },
  }
}

function positionOf(delivery: ConsumeMessage): LogPosition {
  const { messageId, timestamp } = delivery.properties
  return {
    offset: offsetOf(delivery),
    messageId: typeof messageId === 'string' ? messageId : '',
    acceptedAt: new Date(typeof timestamp === 'number' ? timestamp * 1_000 : 0),
  }
}

/** An accepted message as the log stream has it. */
export interface LogEntry {
  messageId: string
  workspace: number | null
  channel: string
  slot: number
  offset: number
  acceptedAt: Date
}

const MAX_ID = 128

/** A delivery's place in the log stream. */
export function offsetOf({ properties }: Pick<ConsumeMessage, 'properties'>): number {
  return Number(properties.headers?.['x-stream-offset'])
}

/** Reads an entry of the log; undefined for what does not count: statuses, replay requests, and what has no id. */
function readLogEntry(delivery: Pick<ConsumeMessage, 'fields' | 'properties'>): LogEntry | undefined {
  const { messageId, type, headers, timestamp } = delivery.properties
  const slot = slotOfKey(delivery.fields.routingKey)
  if (slot === undefined || type === REPLAY_TYPE) return undefined
  if (typeof messageId !== 'string' || messageId.length === 0 || messageId.length > MAX_ID) return undefined
  const { workspace, channel } = (headers ?? {}) as Record<string, unknown>
  return {
    messageId,
    workspace: Number.isSafeInteger(workspace) ? (workspace as number) : null,
    channel: typeof channel === 'string' ? channel : '',
    slot,
    offset: offsetOf(delivery),
    acceptedAt: new Date(typeof timestamp === 'number' ? timestamp * 1_000 : 0),
  }
}
