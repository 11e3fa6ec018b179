import { openConfirmChannel, partitionQueue, REJECTED_QUEUE } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib'
import type { Collections } from '../database.ts'
import type { MessageRecord } from '../message-record.ts'
import { readDelivery } from './read-delivery.ts'
import { storeBatch } from './store-batch.ts'

const PREFETCH = 100
const STORE_AGAIN_MS = 500

export interface Consumer {
  /** Lets the batch under way end, then closes the channel: what is not acked goes to the next consumer. */
  close(): Promise<void>
  /** Closes the channel at once. */
  abandon(): void
}

interface ConsumeOptions {
  connection: ChannelModel
  partition: number
  messages: Collections['messages']
  /** The place of the next message that arrives. */
  nextOrder(): number
  /** Whether storing is still ours to do. */
  held(): boolean
  /** A message was stored. */
  stored(record: MessageRecord): void
  /** A message that was stored before has come again, and is still open. */
  known(record: Pick<MessageRecord, 'workspace' | 'thread'>): void
  closed(): void
  log: Log
}

/**
 * Consumes one partition: consuming is storing. Deliveries are committed in batches, one at a time, and then
 * acked; with the database away nothing is acked. What can't be stored goes to `messages.rejected`.
 */
export async function consume(options: ConsumeOptions): Promise<Consumer> {
  const { connection, partition, log } = options
  const channel = await openConfirmChannel(connection, log)
  let open = true
  let pending: ConsumeMessage[] = []
  let storing: Promise<void> | undefined
  const usable = () => open && options.held()
  const storeAll = async () => {
    while (pending.length > 0 && usable()) {
      const batch = pending
      pending = []
      await storeAndAck({ ...options, channel, batch, usable })
    }
    storing = undefined
  }
  channel.once('close', () => {
    open = false
    pending = []
    options.closed()
  })
  const close = async () => {
    open = false
    await storing
    await channel.close().catch(() => {})
  }
  await channel.prefetch(PREFETCH)
  await channel.consume(partitionQueue(partition), (delivery) => {
    if (delivery === null) return void close()
    if (!open) return
    pending.push(delivery)
    storing ??= storeAll()
  })
  return { close, abandon: () => void channel.close().catch(() => {}) }
}

async function storeAndAck(
  options: ConsumeOptions & { channel: ConfirmChannel; batch: ConsumeMessage[]; usable(): boolean },
): Promise<void> {
  const { channel, batch, messages, partition, usable, log } = options
  const readings = batch.map((delivery) => ({ delivery, reading: readDelivery(delivery) }))
  const records: MessageRecord[] = []
  const rejected: Array<{ delivery: ConsumeMessage; reason: string }> = []
  for (const { delivery, reading } of readings) {
    if (reading.kind === 'rejected') rejected.push({ delivery, reason: reading.reason })
    else records.push({ ...reading.message, partition, order: options.nextOrder() })
  }
  while (usable()) {
    try {
      const { stored, known } = await storeBatch(messages, records)
      for (const { delivery, reason } of rejected) await reject({ channel, delivery, reason, log })
      const last = batch.at(-1)
      if (last !== undefined && usable()) channel.ack(last, true)
      for (const record of stored) options.stored(record)
      for (const record of known) options.known(record)
      return
    } catch (error) {
      log.warn(
        { partition, reason: error instanceof Error ? error.message : 'unknown' },
        'batch not stored yet',
      )
      await new Promise((resolve) => setTimeout(resolve, STORE_AGAIN_MS))
    }
  }
}

function reject(options: {
  channel: ConfirmChannel
  delivery: ConsumeMessage
  reason: string
  log: Log
}): Promise<void> {
  const { channel, delivery, reason, log } = options
  const { messageId, type, headers } = delivery.properties
  log.error({ alarm: 'message_rejected', messageId, type, reason }, 'message rejected')
  return new Promise((resolve, refuse) => {
    channel.sendToQueue(
      REJECTED_QUEUE,
      delivery.content,
      { ...delivery.properties, persistent: true, headers: { ...headers, reason } },
      (error) => (error ? refuse(error) : resolve()),
    )
  })
}
