import type { ConfirmChannel, ConsumeMessage } from 'amqplib'
import { REJECTED_EXCHANGE, REJECTED_QUEUE } from './broker.ts'
import type { Log } from './log.ts'

/** Moves what can't be worked to `messages.rejected`, with the reason, and raises an alarm. Rejects when unconfirmed. */
export function reject(options: {
  channel: ConfirmChannel
  delivery: ConsumeMessage
  reason: string
  log: Log
}): Promise<void> {
  const { channel, delivery, reason, log } = options
  const { messageId, type, headers } = delivery.properties
  log.error({ alarm: 'message_rejected', messageId, type, reason }, 'message rejected')
  return new Promise((resolve, refuse) => {
    channel.publish(
      REJECTED_EXCHANGE,
      REJECTED_QUEUE,
      delivery.content,
      { ...delivery.properties, persistent: true, headers: { ...headers, reason } },
      (error) => (error ? refuse(error) : resolve()),
    )
  })
}
