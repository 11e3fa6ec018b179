import { makeServiceKeys, namedSecret } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { startSink } from './receivers.ts'
import { startServiceProcesses } from './service-processes.ts'

const keys = makeServiceKeys()
const secrets = { SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'), SECRET_KEYS: namedSecret('k1') }

/** Servers, what a dispatcher asks, and an endpoint that takes every call at once. */
export type DispatchSystem = Awaited<ReturnType<typeof startDispatchSystem>>

/**
 * `pinned`: what is run gets the last core for itself. `channelOf` and, for any other document, `documentOf` answer what is
 * asked of configuration.
 */
export async function startDispatchSystem({
  pinned,
  channelOf = (_url, sinkUrl) => channelTo(sinkUrl),
  documentOf = () => ({}),
}: {
  pinned: boolean
  channelOf?: (url: string, sinkUrl: string) => object
  documentOf?: (url: string) => object
}) {
  const sink = await startSink()
  const inner = (url: string) =>
    url.includes('/channels') ? { data: [channelOf(url, sink.url)] } : documentOf(url)
  const own = await startServiceProcesses({ name: 'dispatch', inner })
  const { servers, emptyQueues } = own
  const database = own.database('dispatcher')
  return {
    ...{ servers, sink, database, emptyQueues },
    messages: database.collection<{ _id: string; open?: true; state: string }>('messages'),
    /** Starts a dispatcher; it is at work as soon as it is up. */
    startDispatcher: (environment: Record<string, string> = {}, nodeArgs: string[] = []) => {
      const given = dispatcherEnvironment({
        ...{ mongoUrl: servers.mongo.url, redisUrl: servers.redis.url, amqpUrl: servers.rabbitmq.url },
        ...{ innerUrl: own.innerUrl, database: own.databaseName('dispatcher') },
      })
      return own.run('services/dispatcher/src/server.ts', { ...given, ...environment }, { pinned, nodeArgs })
    },
    /** Starts a script of the benchmarks. */
    startScript: (name: string, environment: Record<string, string> = {}) =>
      own.run(`tests/bench/${name}`, { SINK_URL: sink.url, ...environment }, { pinned }),
    async stop() {
      await own.stop()
      await sink.close()
    },
  }
}

/** The environment of a dispatcher whose inner services are all at `innerUrl`. */
export function dispatcherEnvironment(options: {
  mongoUrl: string
  amqpUrl: string
  redisUrl: string
  database: string
  innerUrl: string
}): Record<string, string> {
  const { mongoUrl, amqpUrl, redisUrl, database, innerUrl } = options
  return {
    NODE_ENV: 'test',
    PORT: '0',
    LOG_LEVEL: 'warn',
    PARTITIONS: `${TEST_LAYOUT.partitions}`,
    MONGO_URL: mongoUrl,
    MONGO_DATABASE: database,
    AMQP_URL: amqpUrl,
    REDIS_URL: redisUrl,
    SERVICE_KEY: JSON.stringify(keys.own.dispatcher),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    GATEWAY_URL: innerUrl,
    WEBHOOK_URL: innerUrl,
    IDENTITY_URL: innerUrl,
    CONFIGURATION_URL: innerUrl,
    ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8,::1/128',
    ...secrets,
  }
}

/** A channel with an RPC callback, as configuration answers it. */
export function channelTo(callbackUrl: string): object {
  const config = { callbackUrl: `${callbackUrl}/callback` }
  return {
    _id: 1,
    version: 1,
    name: 'Line',
    description: '',
    extId: 'line',
    hook: 'rpc',
    callback: 'rpc',
    handlerUrl: 'native:agents/echo',
    config,
  }
}
