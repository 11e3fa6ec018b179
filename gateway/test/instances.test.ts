import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { createServiceCalls } from '@parley/shared/service-calls'
import { followInstances, type Instances } from '../src/instances.ts'
import { listen, stop } from './gateway-system.ts'

const log = createLog({ service: 'test', level: 'silent' })
const calls = startedForTests(() => createServiceCalls({ caFile: undefined, log }))
const servers = [1, 2, 3].map(() => createServer((_req, res) => void res.end('{}')))
let urls: URL[]
const open: Instances[] = []

beforeAll(async () => {
  urls = await Promise.all(servers.map(async (server) => new URL(await listen(server))))
})
afterAll(async () => {
  await Promise.all(open.map((instances) => instances.close()))
  await Promise.all(servers.map(stop))
})

const follow = (...of: URL[]) => {
  const instances = followInstances({ name: 'test', urls: of, calls, log })
  open.push(instances)
  return instances
}
const hostsOf = (instances: Instances) => new Set(Array.from({ length: 12 }, () => instances.next().host))

test('instances are used round robin, and a stopped one is skipped until it is ready again', async () => {
  const instances = follow(...urls)
  expect(hostsOf(instances)).toEqual(new Set(urls.map(({ host }) => host)))
  await stop(servers[1]!)
  expect(await waitUntil(() => hostsOf(instances).size === 2, { timeoutMs: 30_000 })).toBe(true)
  expect(hostsOf(instances).has(urls[1]!.host)).toBe(false)
  await listen(servers[1]!, urls[1]!.href)
  expect(await waitUntil(() => hostsOf(instances).size === 3, { timeoutMs: 30_000 })).toBe(true)
})

test('an instance that has not been there yet is no alarm, and one that was there and is not is one', async () => {
  const warnings: object[] = []
  const recording = { info: () => undefined, warn: (fields: object) => void warnings.push(fields) } as never
  const starting = new URL('http://127.0.0.1:1')
  const instances = followInstances({
    name: 'test',
    urls: [...urls.slice(0, 2), starting],
    calls,
    log: recording,
  })
  open.push(instances)
  expect(await waitUntil(() => hostsOf(instances).size === 2, { timeoutMs: 30_000 })).toBe(true)
  expect(warnings).toEqual([])
  await stop(servers[1]!)
  expect(await waitUntil(() => hostsOf(instances).size === 1, { timeoutMs: 30_000 })).toBe(true)
  expect(warnings).toEqual([{ service: 'test', host: urls[1]!.host }])
  await listen(servers[1]!, urls[1]!.href)
})

test('an instance that failed a request is skipped at once, until it is ready again', async () => {
  const instances = follow(urls[0]!, urls[1]!)
  instances.suspect(urls[0]!)
  expect(hostsOf(instances)).toEqual(new Set([urls[1]!.host]))
  expect(await waitUntil(() => hostsOf(instances).size === 2, { timeoutMs: 30_000 })).toBe(true)
})

test('an instance is chosen when all seem stopped, and when there is only one', () => {
  const two = follow(urls[0]!, urls[1]!)
  for (const url of urls) two.suspect(url)
  expect(hostsOf(two).size).toBe(2)
  const one = follow(urls[0]!)
  one.suspect(urls[0]!)
  expect(hostsOf(one)).toEqual(new Set([urls[0]!.host]))
})

test('a host name stands for the instances at its addresses', async () => {
  const named = new URL(urls[0]!)
  named.hostname = 'localhost'
  const instances = follow(named)
  const resolved = () => hostsOf(instances).size === 1 && hostsOf(instances).has(urls[0]!.host)
  expect(await waitUntil(resolved, { timeoutMs: 30_000 })).toBe(true)
})
