import { makeServiceKeys, namedSecret } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'

const keys = makeServiceKeys()
const secrets = { SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'), SECRET_KEYS: namedSecret('k1') }

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
