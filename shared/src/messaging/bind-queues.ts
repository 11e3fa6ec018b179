import type { Channel } from 'amqplib'

/** AMQP's number of the method `queue.bind`. */
const QUEUE_BIND = 0x320014

/** What of amqplib's channel its types leave out. */
interface MethodSender {
  sendImmediately(method: number, fields: object): void
}

/**
 * Binds queues to an exchange, each by a routing key. The broker answers the last only, after all others: with an answer
 * to each, some 256 of them take longer than all else that a dispatcher does to connect, and amqplib sends no request of
 * a channel before the one before it is answered. Rejects with the broker's 404 where a queue or the exchange is missing.
 */
export async function bindQueues(
  channel: Channel,
  exchange: string,
  bindings: readonly { queue: string; key: string }[],
): Promise<void> {
  const sender = channel as unknown as MethodSender
  for (const { queue, key: routingKey } of bindings) {
    sender.sendImmediately(QUEUE_BIND, {
      ticket: 0,
      queue,
      exchange,
      routingKey,
      arguments: {},
      nowait: true,
    })
  }
  await channel.checkExchange(exchange)
}
