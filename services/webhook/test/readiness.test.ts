import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed, untilReady } from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'

const message = { extId: 'line', user: { phone: '1' }, thread: { extId: 't' }, answer: { message: 'x' } }

let world: IntakeWorld
let gateway: string
let token: string
let identity: TcpProxy
let dispatcher: TcpProxy

const proxied = async (url: string) => {
  const { hostname: host, port } = new URL(url)
  return startTcpProxy({ host, port: Number(port) })
}

beforeAll(async () => {
  world = await startIntakeWorld()
  identity = await proxied(world.identityUrl)
  dispatcher = await proxied(world.identityUrl)
  const started = await world.startGateway({
    IDENTITY_URL: `http://127.0.0.1:${identity.port}`,
    DISPATCHER_URL: `http://127.0.0.1:${dispatcher.port}`,
  })
  gateway = started.url
  token = await tokenFor('b@example.com')
}, START_MS)
afterAll(async () => {
  await world.close()
  await Promise.all([identity.close(), dispatcher.close()])
}, START_MS)

async function tokenFor(email: string): Promise<string> {
  const body = { name: 'B', email, phone: '1', password: 'a long password', namespace: 'b' }
  const answer = await fetch(`${world.identityUrl}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return ((await answer.json()) as Parsed).accessToken
}

async function health(url: string): Promise<{ code: number; status: string; dependencies: Parsed }> {
  const answer = await fetch(`${url}/health/ready`)
  return { code: answer.status, ...((await answer.json()) as Parsed) }
}

/** Returns the health of a process once it has noticed that a dependency is unavailable. */
const without = (url: string, dependency: string) =>
  eventually(async () => {
    const found = await health(url)
    return found.dependencies[dependency] === 'down' ? found : undefined
  })

async function post(): Promise<number> {
  const answer = await fetch(`${gateway}/api/hooks/whatsapp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(message),
  })
  await answer.body?.cancel()
  return answer.status
}

test('with everything up, gateway and webhook are ready and name each dependency', async () => {
  expect(await health(gateway)).toEqual({
    code: 200,
    status: 'ready',
    dependencies: {
      authentication: 'up',
      identity: 'up',
      webhook: 'up',
      configuration: 'up',
      dispatcher: 'up',
      campaigns: 'up',
      redis: 'up',
    },
  })
  expect(await health(world.url)).toEqual({
    code: 200,
    status: 'ready',
    dependencies: { rabbitmq: 'up', redis: 'up', mongodb: 'up' },
  })
  expect(await post()).toBe(200)
})

describe('an outage of', () => {
  test('Redis leaves webhook and gateway ready, degraded, and posting works', async () => {
    world.redis.cut()
    for (const url of [world.url, gateway]) {
      const { code, status } = await without(url, 'redis')
      expect([code, status]).toEqual([200, 'degraded'])
    }
    expect(await post()).toBe(200)
    world.redis.mend()
    await untilReady(gateway)
    await untilReady(world.url)
  })

  test('MongoDB leaves the webhook ready, degraded, and posting works', async () => {
    world.mongo.cut()
    const { code, status } = await without(world.url, 'mongodb')
    expect([code, status]).toEqual([200, 'degraded'])
    expect((await health(gateway)).dependencies.webhook).toBe('up')
    expect(await post()).toBe(200)
    world.mongo.mend()
    await untilReady(world.url)
  })

  test('all dispatchers leaves the gateway ready, degraded, and posting works', async () => {
    dispatcher.cut()
    const { code, status } = await without(gateway, 'dispatcher')
    expect([code, status]).toEqual([200, 'degraded'])
    expect(await post()).toBe(200)
    dispatcher.mend()
    await untilReady(gateway)
  })

  test('identity leaves a gateway ready that has callers in its cache, and these post on', async () => {
    expect(await post()).toBe(200)
    identity.cut()
    const { code, status, dependencies } = await without(gateway, 'identity')
    expect([code, status, dependencies.authentication]).toEqual([200, 'degraded', 'up'])
    expect(await post()).toBe(200)
    identity.mend()
    await untilReady(gateway)
  })

  test('identity leaves a gateway that knows nobody not ready', async () => {
    const own = await proxied(world.identityUrl)
    const { url } = await world.startGateway({ IDENTITY_URL: `http://127.0.0.1:${own.port}` })
    own.cut()
    const { code, status, dependencies } = await without(url, 'authentication')
    expect([code, status, dependencies.identity]).toEqual([503, 'not ready', 'down'])
    await own.close()
  })

  test('the broker leaves the webhook not ready, and the gateway degraded', async () => {
    world.broker.cut()
    const { code, status } = await without(world.url, 'rabbitmq')
    expect([code, status]).toEqual([503, 'not ready'])
    const front = await without(gateway, 'webhook')
    expect([front.code, front.status]).toEqual([200, 'degraded'])
    world.broker.mend()
    await untilReady(world.url)
    await untilReady(gateway)
    expect(await post()).toBe(200)
  })
})
