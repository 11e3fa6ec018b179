import type { Channel } from 'amqplib'

/** AMQP's number of the method `queue.bind`. */
const QUEUE_BIND = 0x320014

/** Topic exchange that every accepted message is published to. */
export const MESSAGES_EXCHANGE = 'messages'
/** Stream of all messages and statuses, for audit. */
export const LOG_QUEUE = 'messages.log'
/** Dead letters: what can't be read or stored, with the reason in its headers. */
export const DEAD_LETTER_QUEUE = 'messages.rejected'
/** Events of channels at their providers, in order. */
export const NOTICE_QUEUE = 'messages.notices'
export const NOTICE_KEY = 'notice'
/** Submissions of answers to tasks, from the dispatcher to configuration. */
export const TASKS_QUEUE = 'tasks'
/** The queue of data about people, and of their changes of consent, from the dispatcher to the campaigns service. */
export const PEOPLE_QUEUE = 'people'
/** The exchange and its queue for events of campaigns, templates and people's consent, for the dispatcher. */
export const CAMPAIGN_EVENTS_QUEUE = 'campaigns.events'
// Nobody publishes to the default exchange: permission for it is permission for every queue.
/** Leads to `messages.rejected` alone. */
export const DEAD_LETTER_EXCHANGE = 'rejected'
/** Leads to the queue `tasks` alone. */
export const SUBMISSIONS_EXCHANGE = 'submissions'
/** Leads to the queue `people` alone. */
export const PEOPLE_EXCHANGE = 'persons'
/** By the name of a queue of statuses to that one alone, past the log. */
export const DISPATCHER_EXCHANGE = 'dispatcher'

/** Topic exchange of every change to the configuration; keys are `<resource>.<created|updated|deleted>`. */
export const CONFIGURATION_EXCHANGE = 'configuration'
/** Changes for the dispatcher's replicas: each dispatcher consumes it. */
export const DISPATCHER_CHANGES = 'dispatcher.configuration'
/**
 * Nothing comes in it. A dispatcher consumes it to say that it opens secrets wherever they lie; one of the release before
 * only those under the settled names.
 */
export const SEALED_READERS = 'dispatcher.configuration.sealed'
/** The largest message that RabbitMQ 4 takes: a larger one closes the channel, again and again. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

const MAX_CAMPAIGN_EVENTS = 1_000_000
const LOG_MAX_AGE = '7D'
const LOG_SEGMENT_BYTES = 100_000_000
const LOG_MAX_BYTES = 20_000_000_000
// Closed channels count as deliveries, so the limit only has to stop an endless loop.
const DELIVERY_LIMIT = 100_000

/** How many queues the provider's statuses are spread over. */
export const STATUS_PARTITIONS = 4
/** The queue of one partition of statuses, 0 to 3: apart from the messages, which may themselves wait for them. */
export const statusQueue = (partition: number): string =>
  partition === 0 ? 'messages.statuses' : `messages.statuses.p${partition}`
/** The routing key of one partition of statuses. The first has the key and queue that were once the only ones. */
export const statusKey = (partition: number): string => (partition === 0 ? 'status' : `status.p${partition}`)
export const STATUS_QUEUES: readonly string[] = Array.from({ length: STATUS_PARTITIONS }, (_, partition) =>
  statusQueue(partition),
)

/** Those of a dispatcher's queues that stay the same whatever the number of partitions. */
export const FIXED_QUEUES: readonly string[] = [
  ...STATUS_QUEUES,
  ...[NOTICE_QUEUE, TASKS_QUEUE, PEOPLE_QUEUE, DEAD_LETTER_QUEUE],
]

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The partition of a send's statuses, by the provider's id of it: those of one send stay in order. */
export function statusPartitionOf(providerId: string): number {
  return hashOf(providerId) % STATUS_PARTITIONS
}

/**
 * FNV-1a over UTF-16 code units, its bits then mixed as MurmurHash3 ends, because a few partitions only look at the
 * last bits.
 */
export function hashOf(name: string): number {
  let hash = FNV_OFFSET
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), FNV_PRIME)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

// One consumer at a time gets what arrives, so that it stays in order.
export const ORDERED_QUEUE = {
  durable: true,
  arguments: {
    'x-queue-type': 'quorum',
    'x-single-active-consumer': true,
    'x-delivery-limit': DELIVERY_LIMIT,
  },
}

/**
 * Declares the exchange `messages` with its statuses, notices and log; throws when one exists with other arguments. The
 * partitions are the dispatcher's to declare: see `layout.ts`.
 */
export async function declareTopology(channel: Channel): Promise<void> {
  await channel.assertExchange(MESSAGES_EXCHANGE, 'topic', { durable: true })
  for (let partition = 0; partition < STATUS_PARTITIONS; partition++) {
    await channel.assertQueue(statusQueue(partition), ORDERED_QUEUE)
    await channel.bindQueue(statusQueue(partition), MESSAGES_EXCHANGE, statusKey(partition))
  }
  await channel.assertQueue(NOTICE_QUEUE, ORDERED_QUEUE)
  await channel.bindQueue(NOTICE_QUEUE, MESSAGES_EXCHANGE, NOTICE_KEY)
  await channel.assertQueue(LOG_QUEUE, {
    durable: true,
    arguments: {
      'x-queue-type': 'stream',
      'x-max-age': LOG_MAX_AGE,
      'x-max-length-bytes': LOG_MAX_BYTES,
      'x-stream-max-segment-size-bytes': LOG_SEGMENT_BYTES,
    },
  })
  await channel.bindQueue(LOG_QUEUE, MESSAGES_EXCHANGE, '#')
}

/** Declares the topology, the exchange by which the dispatcher reaches queues of statuses, tasks and dead letters. */
export async function declareDispatcherTopology(channel: Channel): Promise<void> {
  await declareTopology(channel)
  await channel.assertExchange(DISPATCHER_EXCHANGE, 'direct', { durable: true })
  for (const queue of STATUS_QUEUES) await channel.bindQueue(queue, DISPATCHER_EXCHANGE, queue)
  await declareTasks(channel)
  await declarePeople(channel)
}

/** Declares the queue of what is known of people, that of dead letters, and the exchanges that lead to them. */
export async function declarePeople(channel: Channel): Promise<void> {
  await channel.assertExchange(PEOPLE_EXCHANGE, 'fanout', { durable: true })
  await channel.assertQueue(PEOPLE_QUEUE, ORDERED_QUEUE)
  await channel.bindQueue(PEOPLE_QUEUE, PEOPLE_EXCHANGE, '')
  await declareDeadLetters(channel)
}

/** Declares the queue of what happens to campaigns, whoever comes first. It drops the oldest beyond a million. */
export async function declareCampaignEvents(channel: Channel): Promise<void> {
  await channel.assertExchange(CAMPAIGN_EVENTS_QUEUE, 'fanout', { durable: true })
  await channel.assertQueue(CAMPAIGN_EVENTS_QUEUE, {
    durable: true,
    arguments: { ...ORDERED_QUEUE.arguments, 'x-max-length': MAX_CAMPAIGN_EVENTS },
  })
  await channel.bindQueue(CAMPAIGN_EVENTS_QUEUE, CAMPAIGN_EVENTS_QUEUE, '')
}

/** Declares the queue of submissions to tasks, the queue of dead letters, and the exchanges that lead to them. */
export async function declareTasks(channel: Channel): Promise<void> {
  await channel.assertExchange(SUBMISSIONS_EXCHANGE, 'fanout', { durable: true })
  await channel.assertQueue(TASKS_QUEUE, ORDERED_QUEUE)
  await channel.bindQueue(TASKS_QUEUE, SUBMISSIONS_EXCHANGE, '')
  await declareDeadLetters(channel)
}

async function declareDeadLetters(channel: Channel): Promise<void> {
  await channel.assertExchange(DEAD_LETTER_EXCHANGE, 'fanout', { durable: true })
  await channel.assertQueue(DEAD_LETTER_QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.bindQueue(DEAD_LETTER_QUEUE, DEAD_LETTER_EXCHANGE, '')
}

/**
 * Declares a queue of changes to configuration documents. It drops the oldest beyond `maxLength`, and a queue with
 * `expiresMs` is deleted that long after its last consumer: whoever follows changes reads the documents again anyway.
 */
export async function declareChanges(
  channel: Channel,
  options: { queue: string; resources: readonly string[]; maxLength: number; expiresMs?: number },
): Promise<void> {
  const { queue, resources, maxLength, expiresMs } = options
  await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(queue, {
    durable: true,
    arguments: {
      'x-queue-type': 'quorum',
      'x-delivery-limit': DELIVERY_LIMIT,
      'x-max-length': maxLength,
      ...(expiresMs === undefined ? {} : { 'x-expires': expiresMs }),
    },
  })
  const bindings = resources.map((resource) => ({ queue, key: `${resource}.*` }))
  await bindQueues(channel, CONFIGURATION_EXCHANGE, bindings)
}

/**
 * Declares a queue of every change to the configuration, in order: one consumer at a time gets them. It drops the oldest
 * beyond `maxLength`.
 */
export async function declareOrderedChanges(
  channel: Channel,
  { queue, maxLength }: { queue: string; maxLength: number },
): Promise<void> {
  await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(queue, {
    durable: true,
    arguments: { ...ORDERED_QUEUE.arguments, 'x-max-length': maxLength },
  })
  await channel.bindQueue(queue, CONFIGURATION_EXCHANGE, '#')
}

/** The part of amqplib's channel that its types leave out. */
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
