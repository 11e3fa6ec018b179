import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { freshDirectory } from '@parley/local/testing/test-servers'
import { startNativeServer } from '../src/servers/native-server.ts'
import type { Server } from '../src/servers/server.ts'
import { ServerHost } from '../src/testing/server-host.ts'

const SCRIPT = `console.log('about to end'); setInterval(() => {}, 1_000)`
let said: string[] = []
let servers: Server[] = []
let host: ServerHost
let silent: string | undefined

/** A process of its own that does nothing, in the place of a server. */
async function startIdle(name: string): Promise<Server> {
  const directory = freshDirectory('idle')
  return startNativeServer({
    ...{ name, directory, url: `idle://${name}`, source: 'node', env: {} },
    ...{ command: process.execPath, args: ['-e', SCRIPT], logFile: `${directory}/log` },
    isReady: async () => name !== silent,
    signal: new AbortController().signal,
  })
}

beforeEach(async () => {
  said = []
  silent = undefined
  servers = await Promise.all(['mongo', 'rabbitmq', 'redis'].map(startIdle))
  const [mongo, rabbitmq, redis] = servers as [Server, Server, Server]
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())))
  const prepared = { start: async () => ({ mongo, rabbitmq, redis, stop }) }
  host = new ServerHost(prepared, (line) => said.push(line), { silenceMs: 100 })
  await fetch(await host.listen())
})
afterEach(() => host.close())

test('a server that ends by itself is started again, what it wrote is shown, and who asks hears that it was lost', async () => {
  const [mongo] = servers as [Server]
  const { pid } = mongo
  const before = performance.now()
  expect(host.hasLostServerSince(before)).toBe(false)
  process.kill(pid as number, 'SIGKILL')
  await eventually(async () => (mongo.pid === pid ? undefined : mongo.pid))
  expect(said).toEqual([
    'mongo ended; starting it again in 0.2 s.',
    expect.stringContaining('The log of mongo ends with:'),
  ])
  expect([host.hasLostServerSince(before), host.hasLostServerSince(performance.now() + 60_000)]).toEqual([
    true,
    false,
  ])
})

test('a server that hangs is killed and started again, and files that fail meanwhile hear that it was lost', async () => {
  const [mongo, rabbitmq] = servers as [Server, Server]
  const pids = [mongo.pid, rabbitmq.pid]
  silent = 'mongo'
  await eventually(async () => (host.hasLostServerSince(performance.now() + 60_000) ? true : undefined))
  await eventually(async () => (said.length > 0 ? true : undefined))
  silent = undefined
  await eventually(async () => (mongo.pid === pids[0] ? undefined : mongo.pid))
  expect([said[0], rabbitmq.pid]).toEqual(['mongo has not responded for 0.1 s and is killed.', pids[1]])
  await eventually(async () => (host.hasLostServerSince(performance.now()) ? undefined : true))
})

test('servers that are stopped with it are not started again', async () => {
  const pids = servers.map(({ pid }) => pid)
  await host.close()
  expect([said, servers.map(({ pid }) => pid)]).toEqual([[], pids])
})
