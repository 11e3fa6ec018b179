import { PARTITIONS, partitionKey } from '@parley/shared/messaging/topology'
import type { ConsumeMessage } from 'amqplib'
import { REPLAY_TYPE } from '../message/replayed.ts'

/** An accepted message as the log stream has it. */
export interface LogEntry {
  messageId: string
  workspace: number | null
  channel: string
  partition: number
  offset: number
  acceptedAt: Date
}

const MAX_ID = 128
const partitions = new Map(Array.from({ length: PARTITIONS }, (_, n) => [partitionKey(n), n]))

/** A delivery's place in the log stream. */
export function offsetOf({ properties }: Pick<ConsumeMessage, 'properties'>): number {
  return Number(properties.headers?.['x-stream-offset'])
}

/** Reads an entry of the log; undefined for what does not count: statuses, replay requests, and what has no id. */
export function readLogEntry(delivery: Pick<ConsumeMessage, 'fields' | 'properties'>): LogEntry | undefined {
  const { messageId, type, headers, timestamp } = delivery.properties
  const partition = partitions.get(delivery.fields.routingKey)
  if (partition === undefined || type === REPLAY_TYPE) return undefined
  if (typeof messageId !== 'string' || messageId.length === 0 || messageId.length > MAX_ID) return undefined
  const { workspace, channel } = (headers ?? {}) as Record<string, unknown>
  return {
    messageId,
    workspace: Number.isSafeInteger(workspace) ? (workspace as number) : null,
    channel: typeof channel === 'string' ? channel : '',
    partition,
    offset: offsetOf(delivery),
    acceptedAt: new Date(typeof timestamp === 'number' ? timestamp * 1_000 : 0),
  }
}
