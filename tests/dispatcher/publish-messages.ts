import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { layoutExchange } from '@parley/shared/messaging/layout'
import { messagePublication, type Provenance } from '@parley/shared/messaging/message-publication'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import type { ConfirmChannel } from 'amqplib'

const IN_FLIGHT = 1_000

/**
 * Publishes messages, each named by its id and its thread, as intake does; resolves once all are confirmed. Those that
 * have an `input` carry no answer; those that are not `logged` go to the queues past the log, where nobody will ask what became of them.
 */
export async function publishMessages(
  channel: ConfirmChannel,
  messages: Iterable<{ messageId: string; thread: string; input?: string }>,
  { logged = true } = {},
): Promise<void> {
  const provenance: Provenance = {
    workspace: 1,
    source: 'api',
    channelId: undefined,
    requestId: 'test',
    traceparent: undefined,
  }
  let published = 0
  for (const { messageId, thread, input } of messages) {
    const message = messageIn(thread, input)
    const body = Buffer.from(JSON.stringify(message))
    const { routingKey, type, headers } = messagePublication({ messageId, message, body, provenance })
    const timestamp = Math.floor(Date.now() / 1_000)
    const properties = { messageId, type, headers, timestamp, contentType: 'application/json' }
    const exchange = logged ? MESSAGES_EXCHANGE : layoutExchange(TEST_LAYOUT)
    channel.publish(exchange, routingKey, body, { ...properties, persistent: true })
    if (++published % IN_FLIGHT === 0) await channel.waitForConfirms()
  }
  await channel.waitForConfirms()
}

const messageIn = (thread: string, input: string | undefined) => ({
  extId: 'line',
  user: { name: 'João', phone: '5511999990000', ctx: {} },
  thread: { extId: thread, ctx: {} },
  ...(input === undefined
    ? { answer: { message: 'Olá! A sua encomenda saiu para entrega.', functions: [] } }
    : { input, answer: {} }),
})
