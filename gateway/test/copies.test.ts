import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import { type Copies, followCopies } from '../src/copies.ts'
import { listen, stop } from './gateway-system.ts'

const log = createLog({ service: 'test', level: 'silent' })
const servers = [1, 2, 3].map(() => createServer((_req, res) => void res.end('{}')))
let urls: URL[]
const open: Copies[] = []

beforeAll(async () => {
  urls = await Promise.all(servers.map(async (server) => new URL(await listen(server))))
})
afterAll(async () => {
  await Promise.all(open.map((copies) => copies.close()))
  await Promise.all(servers.map(stop))
})

const follow = (...of: URL[]) => {
  const copies = followCopies({ name: 'test', urls: of, log })
  open.push(copies)
  return copies
}
const hostsOf = (copies: Copies) => new Set(Array.from({ length: 12 }, () => copies.next().host))

test('copies take turns; a dead one is skipped and comes back', async () => {
  const copies = follow(...urls)
  expect(hostsOf(copies)).toEqual(new Set(urls.map(({ host }) => host)))
  await stop(servers[1]!)
  expect(await waitUntil(() => hostsOf(copies).size === 2, { timeoutMs: 5_000 })).toBe(true)
  expect(hostsOf(copies).has(urls[1]!.host)).toBe(false)
  await listen(servers[1]!, urls[1]!.href)
  expect(await waitUntil(() => hostsOf(copies).size === 3, { timeoutMs: 5_000 })).toBe(true)
})

test('one that failed a request is skipped at once, until it answers again', async () => {
  const copies = follow(urls[0]!, urls[1]!)
  copies.suspect(urls[0]!)
  expect(hostsOf(copies)).toEqual(new Set([urls[1]!.host]))
  expect(await waitUntil(() => hostsOf(copies).size === 2, { timeoutMs: 5_000 })).toBe(true)
})

test('with all of them dead, and with a single one, there is still an answer', () => {
  const two = follow(urls[0]!, urls[1]!)
  for (const url of urls) two.suspect(url)
  expect(hostsOf(two).size).toBe(2)
  const one = follow(urls[0]!)
  one.suspect(urls[0]!)
  expect(hostsOf(one)).toEqual(new Set([urls[0]!.host]))
})

test('a name is followed to its addresses', async () => {
  const named = new URL(urls[0]!)
  named.hostname = 'localhost'
  const copies = follow(named)
  const resolved = () => hostsOf(copies).size === 1 && hostsOf(copies).has(urls[0]!.host)
  expect(await waitUntil(resolved, { timeoutMs: 5_000 })).toBe(true)
})
