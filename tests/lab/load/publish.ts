import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { defined } from '@parley/shared/defined'
import { layoutExchange } from '@parley/shared/messaging/layout'
import { messagePublication } from '@parley/shared/messaging/message-publication'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { type ConfirmChannel, connect } from 'amqplib'

const IN_FLIGHT = 1_000

interface Filling {
  messages: number
  threads: string[]
  prefix: string
  /** In the log, too, when not given: where nobody will ask what became of them, they need not be. */
  logged?: boolean
  /** With it they carry no answer, and need an agent. */
  input?: string
}

/** Queues messages, confirmed, round robin over the threads. */
export async function fill(
  { servers }: { servers: { rabbitmq: { url: string } } },
  { messages, threads, prefix, logged = true, input }: Filling,
): Promise<void> {
  const connection = await connect(servers.rabbitmq.url, { noDelay: true })
  const channel = await connection.createConfirmChannel()
  function* all() {
    for (let n = 0; n < messages; n++)
      yield { messageId: `${prefix}-${n}`, thread: threads[n % threads.length] ?? '', ...defined({ input }) }
  }
  await publishMessages(channel, all(), { logged })
  await connection.close()
}

/** Publishes messages, each named by its id and its thread; resolves once all are confirmed. */
export async function publishMessages(
  channel: ConfirmChannel,
  messages: Iterable<{ messageId: string; thread: string; input?: string }>,
  { logged = true } = {},
): Promise<void> {
  let published = 0
  for (const { messageId, thread, input } of messages) {
    const message = {
      extId: 'line',
      user: { name: 'João', phone: '5511999990000', ctx: {} },
      thread: { extId: thread, ctx: {} },
      ...(input === undefined
        ? { answer: { message: 'Olá! A sua encomenda saiu para entrega.', functions: [] } }
        : { input, answer: {} }),
    }
    publish(channel, { messageId, message, workspace: 1, logged })
    if (++published % IN_FLIGHT === 0) await channel.waitForConfirms()
  }
  await channel.waitForConfirms()
}

/** Publishes a message that is the only one of its thread. */
export function publishOne(
  channel: ConfirmChannel,
  { id, workspace, extId, hasReply }: { id: string; workspace: number; extId: string; hasReply: boolean },
): void {
  const answer = hasReply ? { message: 'A sua encomenda saiu para entrega.' } : {}
  const message = { extId, user: { name: 'João' }, thread: { extId: id }, input: 'Olá', answer }
  publish(channel, { messageId: id, message, workspace, logged: true })
}

/** As intake does; past the log unless `logged`. */
function publish(
  channel: ConfirmChannel,
  options: {
    messageId: string
    message: Parameters<typeof messagePublication>[0]['message']
    workspace: number
    logged: boolean
  },
): void {
  const { messageId, message, workspace, logged } = options
  const body = Buffer.from(JSON.stringify(message))
  const { routingKey, type, headers } = messagePublication({
    ...{ messageId, message, body },
    provenance: {
      ...{ workspace, source: 'api', channelId: undefined, requestId: 'test', traceparent: undefined },
    },
  })
  const timestamp = Math.floor(Date.now() / 1_000)
  const properties = { messageId, type, headers, timestamp, contentType: 'application/json' }
  const exchange = logged ? MESSAGES_EXCHANGE : layoutExchange(TEST_LAYOUT)
  channel.publish(exchange, routingKey, body, { ...properties, persistent: true })
}
