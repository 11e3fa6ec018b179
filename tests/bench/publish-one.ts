import { messagePublication, type Provenance } from '@parley/shared/messaging/message-publication'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import type { ConfirmChannel } from 'amqplib'

/** Publishes a message that is the only one of its thread, as intake does. */
export function publishOne(
  channel: ConfirmChannel,
  { id, workspace, extId, hasReply }: { id: string; workspace: number; extId: string; hasReply: boolean },
): void {
  const message = {
    extId,
    user: { name: 'João' },
    thread: { extId: id },
    input: 'Olá',
    answer: hasReply ? { message: 'A sua encomenda saiu para entrega.' } : {},
  }
  const body = Buffer.from(JSON.stringify(message))
  const provenance: Provenance = {
    workspace,
    source: 'api',
    channelId: undefined,
    requestId: 'bench',
    traceparent: undefined,
  }
  const { routingKey, type, headers } = messagePublication({ messageId: id, message, body, provenance })
  const timestamp = Math.floor(Date.now() / 1_000)
  const properties = { messageId: id, type, headers, timestamp, contentType: 'application/json' }
  channel.publish(MESSAGES_EXCHANGE, routingKey, body, { ...properties, persistent: true })
}
