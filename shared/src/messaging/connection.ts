import { setTimeout as pause } from 'node:timers/promises'
import {
  type Channel,
  type ChannelModel,
  type ConfirmChannel,
  connect,
  type Options,
  type RecoveringChannelModel,
} from 'amqplib'
import type { Log } from '../log.ts'
import { Problem } from '../problem.ts'
import { parseAmqpUrl, readTlsFiles, type ServerUrl } from '../server-url.ts'

/** Something that works on every new connection to the broker. */
export interface Follower {
  attach(connection: ChannelModel): void
}

/** A connection to the broker that is made anew after every loss. */
export interface Broker {
  /** Attaches to the present connection, and to every later one. */
  follow(follower: Follower): void
  /** Declares again what the connection was set up with. Rejects with `unavailable` without a connection. */
  declare(): Promise<void>
  /** Runs `use` with a channel of its own, then closes that. Rejects with `unavailable` without a connection. */
  withChannel<T>(use: (channel: Channel) => Promise<T>): Promise<T>
  /** How many consume a queue; none where it is not there. Rejects with `unavailable` without a connection. */
  consumersOf(queue: string): Promise<number>
  isUp(): Promise<boolean>
  /** Gives the present connection up for one to the next of the hosts. */
  moveOn(): void
  close(): Promise<void>
}

interface BrokerOptions {
  /** May name several hosts of one cluster: they are tried one after another. */
  url: string
  /** Declares what is used. It runs on every connection before that counts as up: see {@link declareOn}. */
  declare(channel: Channel): Promise<void>
  /** How long to wait before declaring again, in milliseconds; 30 s by default. */
  againMs?: number
  log: Log
}

/**
 * Connects with amqplib's own recovery: returns at once, connects in the background and after every loss,
 * at most 2 s apart, to the next of the hosts: the one that was lost may accept connections and not answer.
 */
export async function connectBroker(options: BrokerOptions): Promise<Broker> {
  const { log } = options
  const followers: Follower[] = []
  const closing = new AbortController()
  let current: ChannelModel | undefined
  const setup = (connection: ChannelModel) => declareOn({ ...options, connection, signal: closing.signal })
  const recovering = await connectRecovering(options, setup)
  const connected = () => {
    if (current === undefined)
      throw new Problem('unavailable', { detail: 'The message broker is unavailable.' })
    return current
  }
  recovering.on('connect', (connection: ChannelModel) => {
    current = connection
    log.info('broker connected')
    for (const follower of followers) follower.attach(connection)
  })
  recovering.on('disconnect', (error: Error) => {
    current = undefined
    log.warn({ reason: error.message }, 'broker lost')
  })
  return {
    follow(follower) {
      followers.push(follower)
      if (current !== undefined) follower.attach(current)
    },
    declare: async () => setup(connected()),
    async withChannel(use) {
      const channel = await openChannel(connected(), log)
      try {
        return await use(channel)
      } finally {
        await channel.close().catch(() => {})
      }
    },
    consumersOf: (queue) => countConsumers(connected(), queue),
    isUp: async () => current !== undefined,
    moveOn: () => void current?.close().catch(() => {}),
    close: () => {
      closing.abort()
      return recovering.close()
    },
  }
}

/** Consumers and publishers of a connection listen to its end: beyond so many something leaks. */
const MAX_LISTENERS = 100

async function connectRecovering(
  { url, log }: Pick<BrokerOptions, 'url' | 'log'>,
  setup: (connection: ChannelModel) => Promise<void>,
): Promise<RecoveringChannelModel> {
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
        model.setMaxListeners(MAX_LISTENERS)
        return setup(closesWithConnection(model))
      },
    },
  })
  connection.on('connect-failed', (error: Error) => {
    log.warn({ reason: error.message, host: address.hostname }, 'broker not reached: trying its next host')
    useNext()
  })
  connection.on('disconnect', useNext)
  connection.on('error', (error: Error) => log.warn({ reason: error.message }, 'broker connection error'))
  return connection
}

// A host that stands still is noticed after two to three of them, and replaced.
const HEARTBEAT_SECONDS = 4

/**
 * The address of one of the hosts, and how to turn it into that of the next: amqplib reads it anew for every attempt.
 * Processes begin with different hosts, so that the hosts share them.
 */
function addressesIn({ scheme, username, password, hosts, path, parameters }: ServerUrl) {
  let index = Math.floor(Math.random() * hosts.length)
  const address: Options.Connect = {
    protocol: scheme,
    ...(username === undefined ? {} : { username, password: password ?? '' }),
    ...hosts[index],
    vhost: path === undefined || path === '' ? '/' : path,
    frameMax: Number(parameters.get('frameMax') ?? 0),
    heartbeat: HEARTBEAT_SECONDS,
  }
  const useNext = () => {
    index = (index + 1) % hosts.length
    Object.assign(address, hosts[index])
  }
  return { address, useNext }
}

const PRECONDITION_FAILED = 406
const NOT_FOUND = 404
const DECLARE_AGAIN_MS = 30_000
const LOOK_AGAIN_MS = 250
const MAX_LOOK_AGAIN_MS = 4_000

/**
 * Runs `declare` on a channel of its own. When something exists with other arguments, one error line names it,
 * and it is tried again every 30 s (or `againMs`) until somebody has mended it. When something is not there that another
 * service declares, one line names it, and it is looked for again until it is: after 250 ms, then twice as long each time up to
 * 4 s, since the broker logs each look as an error. Rejects when the connection or `signal`
 * ends.
 */
export async function declareOn(
  options: Omit<BrokerOptions, 'url'> & { connection: ChannelModel; signal: AbortSignal },
): Promise<void> {
  const { connection, signal, againMs = DECLARE_AGAIN_MS } = options
  const lost = new AbortController()
  const abort = () => lost.abort()
  connection.once('close', abort)
  try {
    let logged: string | undefined
    let lookAgainMs = LOOK_AGAIN_MS
    for (;;) {
      const refused = await declareOnce(options)
      if (lost.signal.aborted) throw new Error('The connection broke off.')
      if (refused === undefined) return
      const { code, reason } = refused
      const queue = / (?:queue|exchange) '([^']*)'/.exec(reason)?.[1]
      if (reason !== logged && code === PRECONDITION_FAILED)
        options.log.error({ queue, reason }, 'broker has this with other arguments')
      if (reason !== logged && code === NOT_FOUND)
        options.log.warn({ queue }, 'waiting for what another service declares: is a dispatcher running?')
      logged = reason
      const pauseMs = code === NOT_FOUND ? lookAgainMs : againMs
      lookAgainMs = Math.min(2 * lookAgainMs, MAX_LOOK_AGAIN_MS)
      await pause(pauseMs, undefined, { signal: AbortSignal.any([signal, lost.signal]) })
    }
  } finally {
    connection.off('close', abort)
  }
}

/** Returns what the broker says of something that has other arguments, or is not there; throws everything else. */
async function declareOnce(options: {
  connection: ChannelModel
  declare(channel: Channel): Promise<void>
}): Promise<{ code: number; reason: string } | undefined> {
  const channel = closesWithConnection(await options.connection.createChannel())
  // Whatever it is, `declare` rejects with it.
  channel.on('error', () => {})
  try {
    await options.declare(channel)
    await channel.close()
    return undefined
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown }
    if (code !== PRECONDITION_FAILED && code !== NOT_FOUND) throw error
    return { code, reason: message }
  }
}

async function countConsumers(connection: ChannelModel, queue: string): Promise<number> {
  const channel = closesWithConnection(await connection.createChannel())
  // It is also what the call below rejects with.
  channel.on('error', () => {})
  try {
    const { consumerCount } = await channel.checkQueue(queue)
    await channel.close()
    return consumerCount
  } catch (error) {
    if ((error as { code?: unknown }).code === NOT_FOUND) return 0
    throw error
  }
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
  return closesWithConnection(channel)
}

/**
 * amqplib settles `close` only once the broker confirms it. Where the connection breaks off before, whoever waits for it
 * would wait for good, and so would the recovery of the connection: the event is all that comes.
 */
function closesWithConnection<C extends Channel | ChannelModel>(closable: C): C {
  const close = closable.close.bind(closable)
  closable.close = () =>
    new Promise((resolve, reject) => {
      closable.once('close', () => resolve())
      close().then(resolve, reject)
    })
  return closable
}
