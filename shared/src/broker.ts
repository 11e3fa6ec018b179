import { setTimeout as pause } from 'node:timers/promises'
import {
  type Channel,
  type ChannelModel,
  type ConfirmChannel,
  connect,
  type Options,
  type RecoveringChannelModel,
} from 'amqplib'
import type { Log } from './log.ts'
import { parseAmqpUrl, readTlsFiles, type ServerUrl } from './server-url.ts'

/** Topic exchange that every accepted message is published to. */
export const MESSAGES_EXCHANGE = 'messages'
/** Stream of all messages and statuses, for audit. */
export const LOG_QUEUE = 'messages.log'
/** What could not even be stored, with the reason in its headers. */
export const REJECTED_QUEUE = 'messages.rejected'
/** What answers submit to tasks, from the dispatcher to configuration. */
export const TASKS_QUEUE = 'tasks'
// Nobody publishes to the default exchange: permission for it is permission for every queue.
/** Leads to `messages.rejected` alone. */
export const REJECTED_EXCHANGE = 'rejected'
/** Leads to the queue `tasks` alone. */
export const SUBMISSIONS_EXCHANGE = 'submissions'
/** By the name of a queue of messages or statuses to that one alone, past the log. */
export const DISPATCHER_EXCHANGE = 'dispatcher'
export const PARTITIONS = 8

/** Topic exchange that tells of every change to the configuration; keys are `<resource>.<what happened>`. */
export const CONFIGURATION_EXCHANGE = 'configuration'
/** What happened to channels, for the copies that intake keeps. */
export const CHANNEL_CHANGES_QUEUE = 'webhook.channels'

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

/** The queue of one partition, 0 to 7. */
export const partitionQueue = (partition: number): string => `${MESSAGES_EXCHANGE}.p${partition}`
/** The routing key of one partition, 0 to 7. */
export const partitionKey = (partition: number): string => `p${partition}`

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The partition of a thread: the same for the same workspace and thread, evenly spread over all. */
export function partitionOf(workspace: number, thread: string): number {
  return hashOf(`${workspace}\0${thread}`) % PARTITIONS
}

/** The partition of a send's statuses, by the provider's id of it: those of one send stay in order. */
export function statusPartitionOf(providerId: string): number {
  return hashOf(providerId) % STATUS_PARTITIONS
}

/**
 * FNV-1a over UTF-16 code units, its bits then mixed as MurmurHash3 ends, because a few partitions only look at the
 * last bits.
 */
function hashOf(name: string): number {
  let hash = FNV_OFFSET
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), FNV_PRIME)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

// One consumer at a time gets what arrives, so that it stays in order.
const ORDERED_QUEUE = {
  durable: true,
  arguments: {
    'x-queue-type': 'quorum',
    'x-single-active-consumer': true,
    'x-delivery-limit': DELIVERY_LIMIT,
  },
}

/** Declares the exchange `messages` with its partitions, statuses and log; throws when one exists with other arguments. */
export async function declareTopology(channel: Channel): Promise<void> {
  await channel.assertExchange(MESSAGES_EXCHANGE, 'topic', { durable: true })
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await channel.assertQueue(partitionQueue(partition), ORDERED_QUEUE)
    await channel.bindQueue(partitionQueue(partition), MESSAGES_EXCHANGE, partitionKey(partition))
  }
  for (let partition = 0; partition < STATUS_PARTITIONS; partition++) {
    await channel.assertQueue(statusQueue(partition), ORDERED_QUEUE)
    await channel.bindQueue(statusQueue(partition), MESSAGES_EXCHANGE, statusKey(partition))
  }
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

/** Declares the topology, what the dispatcher reaches single queues by, tasks and rejected queue. */
export async function declareDispatcherTopology(channel: Channel): Promise<void> {
  await declareTopology(channel)
  await channel.assertExchange(DISPATCHER_EXCHANGE, 'direct', { durable: true })
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partitionQueue(partition))
  for (const queue of [...partitions, ...STATUS_QUEUES])
    await channel.bindQueue(queue, DISPATCHER_EXCHANGE, queue)
  await declareTasks(channel)
}

/** Declares the queue of submissions to tasks, where those go that can't be worked, and the exchanges to both. */
export async function declareTasks(channel: Channel): Promise<void> {
  await channel.assertExchange(SUBMISSIONS_EXCHANGE, 'fanout', { durable: true })
  await channel.assertQueue(TASKS_QUEUE, ORDERED_QUEUE)
  await channel.bindQueue(TASKS_QUEUE, SUBMISSIONS_EXCHANGE, '')
  await channel.assertExchange(REJECTED_EXCHANGE, 'fanout', { durable: true })
  await channel.assertQueue(REJECTED_QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.bindQueue(REJECTED_QUEUE, REJECTED_EXCHANGE, '')
}

const MAX_CHANNEL_CHANGES = 100_000

/** Declares the queue of changes to channels; the oldest are dropped beyond 100,000, for copies are read again. */
export async function declareChannelChanges(channel: Channel): Promise<void> {
  await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(CHANNEL_CHANGES_QUEUE, {
    durable: true,
    arguments: {
      'x-queue-type': 'quorum',
      'x-delivery-limit': DELIVERY_LIMIT,
      'x-max-length': MAX_CHANNEL_CHANGES,
    },
  })
  await channel.bindQueue(CHANNEL_CHANGES_QUEUE, CONFIGURATION_EXCHANGE, 'channels.*')
}

const PRECONDITION_FAILED = 406
const DECLARE_AGAIN_MS = 30_000

/**
 * Runs `declare` on a channel of its own. When something exists with other arguments, one error line names it,
 * and it is tried again every 30 s (or `againMs`) until somebody has mended it. Rejects when the connection or
 * `signal` ends.
 */
export async function declareOn(options: {
  connection: ChannelModel
  declare(channel: Channel): Promise<void>
  log: Log
  signal: AbortSignal
  againMs?: number
}): Promise<void> {
  const { connection, declare, log, signal, againMs = DECLARE_AGAIN_MS } = options
  const lost = new AbortController()
  connection.once('close', () => lost.abort())
  let told = ''
  for (;;) {
    const channel = await connection.createChannel()
    // Whatever it is, `declare` rejects with it.
    channel.on('error', () => {})
    try {
      await declare(channel)
      return await channel.close()
    } catch (error) {
      const { code, message } = error as Error & { code?: unknown }
      if (code !== PRECONDITION_FAILED) throw error
      const queue = / for (?:queue|exchange) '([^']*)'/.exec(message)?.[1]
      if (message !== told) log.error({ queue, reason: message }, 'broker has this with other arguments')
      told = message
    }
    await pause(againMs, undefined, { signal: AbortSignal.any([signal, lost.signal]) })
  }
}

interface BrokerOptions {
  /** May name several hosts of one cluster: they are tried in turn. */
  url: string
  log: Log
  /** Runs on every connection before it counts as up; what it throws closes it, and it is tried again. */
  setup(connection: ChannelModel): Promise<void>
}

/**
 * Connects with amqplib's own recovery: returns at once, connects in the background and after every loss,
 * at most 2 s apart, to the next of the hosts. `setup` makes the channels anew each time.
 */
export async function connectBroker({ url, log, setup }: BrokerOptions): Promise<RecoveringChannelModel> {
  const server = parseAmqpUrl(url)
  const { address, useNext } = addressesIn(server)
  const connection = await connect(address, {
    noDelay: true,
    ...(server.scheme === 'amqps' ? readTlsFiles(server) : {}),
    timeout: 5_000,
    recovery: {
      initialDelay: 100,
      maxDelay: 2_000,
      waitForConnect: false,
      setup: (model: ChannelModel) => {
        // One that breaks off in the middle of this rejects what waits for it.
        model.on('error', () => {})
        return setup(model)
      },
    },
  })
  connection.on('connect', () => log.info('broker connected'))
  connection.on('disconnect', (error: Error) => log.warn({ reason: error.message }, 'broker lost'))
  connection.on('connect-failed', (error: Error) => {
    log.warn({ reason: error.message, host: address.hostname }, 'broker not reached: trying its next host')
    useNext()
  })
  connection.on('error', (error: Error) => log.warn({ reason: error.message }, 'broker connection error'))
  return connection
}

const HEARTBEAT_SECONDS = 5

/**
 * The address of one of the hosts, and how to turn it into that of the next: amqplib reads it anew for every attempt.
 * Processes begin with different hosts, so that they share them out.
 */
function addressesIn({ scheme, username, password, hosts, path, parameters }: ServerUrl) {
  let turn = Math.floor(Math.random() * hosts.length)
  const address: Options.Connect = {
    protocol: scheme,
    ...(username === undefined ? {} : { username, password: password ?? '' }),
    ...hosts[turn],
    vhost: path === undefined || path === '' ? '/' : path,
    frameMax: Number(parameters.get('frameMax') ?? 0),
    heartbeat: HEARTBEAT_SECONDS,
  }
  const useNext = () => {
    turn = (turn + 1) % hosts.length
    Object.assign(address, hosts[turn])
  }
  return { address, useNext }
}

/** Opens a channel whose errors are logged rather than thrown into the process. */
export async function openChannel(connection: ChannelModel, log: Log): Promise<Channel> {
  return withErrorLog(await connection.createChannel(), log)
}

/** As {@link openChannel}, with publisher confirms. */
export async function openConfirmChannel(connection: ChannelModel, log: Log): Promise<ConfirmChannel> {
  return withErrorLog(await connection.createConfirmChannel(), log)
}

function withErrorLog<C extends Channel>(channel: C, log: Log): C {
  channel.on('error', (error: Error) => log.error({ reason: error.message }, 'broker channel error'))
  return channel
}
