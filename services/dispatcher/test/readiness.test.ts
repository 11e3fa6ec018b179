import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  eventually,
  type Listening,
  makeServiceKeys,
  startService,
  untilReady,
} from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import mongoose from 'mongoose'
import { buildApp } from '../src/app.ts'
import { config } from '../src/config.ts'

const NOWHERE = 'http://127.0.0.1:1'
const database = freshDatabase('dispatcher')
const proxies: Record<string, TcpProxy> = {}
let dispatcher: Listening
let mongoUrl: string

/** The same URL through a proxy that can be cut. */
async function through(name: string, url: string): Promise<string> {
  const target = new URL(url)
  const proxy = await startTcpProxy({ host: target.hostname, port: Number(target.port) })
  proxies[name] = proxy
  target.hostname = '127.0.0.1'
  target.port = String(proxy.port)
  if (name === 'mongodb') {
    target.searchParams.delete('replicaSet')
    target.searchParams.set('directConnection', 'true')
  }
  return target.href
}

beforeAll(async () => {
  const servers = await testServers()
  mongoUrl = servers.mongoUrl
  dispatcher = await startService({
    name: 'dispatcher',
    config,
    build: buildApp,
    keys: makeServiceKeys(),
    environment: {
      MONGO_URL: await through('mongodb', servers.mongoUrl),
      MONGO_DATABASE: database,
      AMQP_URL: await through('rabbitmq', servers.amqpUrl),
      REDIS_URL: await through('redis', servers.redisUrl),
      GATEWAY_URL: NOWHERE,
      WEBHOOK_URL: NOWHERE,
      IDENTITY_URL: NOWHERE,
      CONFIGURATION_URL: NOWHERE,
      SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'),
    },
  })
})
afterAll(async () => {
  await dispatcher.close()
  for (const proxy of Object.values(proxies)) await proxy.close()
  const client = await mongoose.mongo.MongoClient.connect(mongoUrl)
  await client.db(database).dropDatabase()
  await client.close()
})

test.each([
  ['mongodb', 503, 'not ready'],
  ['rabbitmq', 503, 'not ready'],
  ['redis', 200, 'degraded'],
])('without %s the dispatcher answers %i: %s', async (name, code, status) => {
  proxies[name]?.cut()
  const said = await eventually(async () => {
    const answer = await fetch(`${dispatcher.url}/health/ready`)
    const health = (await answer.json()) as { status: string; dependencies: Record<string, string> }
    return health.dependencies[name] === 'down' ? { code: answer.status, status: health.status } : undefined
  })
  expect(said).toEqual({ code, status })
  proxies[name]?.mend()
  await untilReady(dispatcher.url)
})
