import { expect, test } from '@jest/globals'
import { startTcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import { startTlsServer } from '@parley/local/testing/tls-server'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { consumeEach } from '@parley/shared/messaging/consumer'

const log = createLog({ service: 'test', level: 'silent' })
const connected = async (url: string, listener = log) =>
  connectBroker({ url, declare: async () => {}, log: listener })
const untilUp = async (broker: Awaited<ReturnType<typeof connected>>) =>
  expect(await waitUntil(() => broker.isUp(), { timeoutMs: 30_000 })).toBe(true)

/** A broker behind two proxies, which it takes for two hosts. */
async function throughTwoHosts(listener = log) {
  const target = new URL((await testServers()).amqpUrl)
  const place = { host: target.hostname, port: Number(target.port) }
  const hosts = [await startTcpProxy(place), await startTcpProxy(place)]
  const user = target.username ? `${target.username}:${target.password}@` : ''
  const list = hosts.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const broker = await connected(`amqp://${user}${list}${target.pathname}`, listener)
  let connections = 0
  broker.follow({ attach: () => void connections++ })
  const untilConnected = async (times: number) =>
    expect(await waitUntil(() => connections >= times, { timeoutMs: 30_000 })).toBe(true)
  return { hosts, broker, untilConnected, connections: () => connections }
}

test('a broker whose first host is unavailable is reached through the next, and through the first again', async () => {
  const { hosts, broker, untilConnected, connections } = await throughTwoHosts()
  await untilConnected(1)
  for (const [cut, left] of [hosts, hosts.toReversed(), hosts]) {
    left?.mend()
    const before = connections()
    cut?.cut()
    // Whichever host it was connected to, it is the other one in the end.
    left?.cut()
    left?.mend()
    await untilConnected(before + 1)
  }
  await broker.close()
  for (const host of hosts) await host.close()
})

test('a connection that breaks off while it is being set up is followed by another', async () => {
  const target = new URL((await testServers()).amqpUrl)
  const proxy = await startTcpProxy({ host: target.hostname, port: Number(target.port) })
  target.port = String(proxy.port)
  let times = 0
  const declare = async () => {
    if (++times > 3) return
    // The next frame, which closes this channel, is never answered.
    proxy.cut()
    proxy.mend()
  }
  const broker = await connectBroker({ url: target.href, declare, log })
  await untilUp(broker)
  expect(times).toBe(4)
  await broker.close()
  await proxy.close()
})

test('after a loss the next host is tried before the one that was lost', async () => {
  const { hosts, broker, untilConnected } = await throughTwoHosts()
  const counts = () => hosts.map((host) => host.connections())
  await untilConnected(1)
  for (let times = 1; times <= 4; times++) {
    for (const host of hosts) {
      host.cut()
      // It takes connections again before anybody comes.
      host.mend()
    }
    await untilConnected(times + 1)
  }
  expect(counts().toSorted()).toEqual([2, 3])
  await broker.close()
  for (const host of hosts) await host.close()
})

test('a consumer waits for the next connection, and asks nothing of the one that was lost', async () => {
  const warnings: string[] = []
  const warn = (_fields: object, text: string) => void warnings.push(text)
  const listener = { ...log, warn, info: () => {}, error: () => {} } as unknown as typeof log
  const { hosts, broker, untilConnected } = await throughTwoHosts(listener)
  await untilConnected(1)
  await broker.withChannel((channel) => channel.assertQueue('followed', { expires: 60_000 }))
  const consumer = consumeEach({
    queue: 'followed',
    take: async () => undefined,
    declare: broker.declare,
    log: listener,
  })
  broker.follow(consumer)
  const consumes = () => waitUntil(async () => consumer.isConsuming(), { timeoutMs: 30_000 })
  expect(await consumes()).toBe(true)
  for (const host of hosts) host.cut()
  const refusals = () => warnings.filter((text) => text.startsWith('broker not reached')).length
  expect(await waitUntil(async () => refusals() >= 4, { timeoutMs: 30_000 })).toBe(true)
  for (const host of hosts) host.mend()
  await untilConnected(2)
  await broker.withChannel((channel) => channel.assertQueue('followed', { expires: 60_000 }))
  expect(await consumes()).toBe(true)
  expect(warnings).not.toContain('queue not consumed')
  await consumer.close()
  await broker.close()
  for (const host of hosts) await host.close()
}, 60_000)

test('a broker is reached by TLS, with the files that its URL names', async () => {
  const target = new URL((await testServers()).amqpUrl)
  const server = await startTlsServer({ host: target.hostname, port: Number(target.port) })
  const user = target.username ? `${target.username}:${target.password}@` : ''
  const at = `${user}localhost:${server.port}${target.pathname}`
  const broker = await connected(`amqps://${at}?${server.files}`)
  await untilUp(broker)
  await broker.close()
  let failures = 0
  const warn = () => void failures++
  const stranger = await connectBroker({
    url: `amqps://${at}`,
    declare: async () => {},
    log: { ...log, warn, info: () => {}, error: () => {} } as unknown as typeof log,
  })
  expect(await waitUntil(() => failures > 1, { timeoutMs: 30_000 })).toBe(true)
  expect(await stranger.isUp()).toBe(false)
  await stranger.close()
  await server.close()
})
