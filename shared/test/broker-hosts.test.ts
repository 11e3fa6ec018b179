import { expect, test } from '@jest/globals'
import { startTcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import { startTlsServer } from '@parley/local/testing/tls-server'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'

const log = createLog({ service: 'test', level: 'silent' })
const connected = async (url: string) => connectBroker({ url, declare: async () => {}, log })
const untilUp = async (broker: Awaited<ReturnType<typeof connected>>) =>
  expect(await waitUntil(() => broker.isUp(), { timeoutMs: 30_000 })).toBe(true)

test('a broker whose first host is unavailable is reached through the next, and through the first again', async () => {
  const target = new URL((await testServers()).amqpUrl)
  const place = { host: target.hostname, port: Number(target.port) }
  const hosts = [await startTcpProxy(place), await startTcpProxy(place)]
  const user = target.username ? `${target.username}:${target.password}@` : ''
  const list = hosts.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const broker = await connected(`amqp://${user}${list}${target.pathname}`)
  let connections = 0
  broker.follow({ attach: () => void connections++ })
  const untilConnected = async (times: number) =>
    expect(await waitUntil(() => connections >= times, { timeoutMs: 30_000 })).toBe(true)
  await untilConnected(1)
  for (const [cut, left] of [hosts, hosts.toReversed(), hosts]) {
    left?.mend()
    const before = connections
    cut?.cut()
    // Whichever host it was connected to, it is the other one in the end.
    left?.cut()
    left?.mend()
    await untilConnected(before + 1)
  }
  await broker.close()
  for (const host of hosts) await host.close()
}, 120_000)

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
  expect(await waitUntil(() => failures > 1, { timeoutMs: 15_000 })).toBe(true)
  expect(await stranger.isUp()).toBe(false)
  await stranger.close()
  await server.close()
}, 60_000)
