import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import type { PendingResponse } from '@parley/shared/exchange'
import { awaitBody } from '../src/await-body.ts'
import { gatewayUnderTest } from './gateway-system.ts'

const gateway = gatewayUnderTest({ backend: 'webhook' })
const slow = gatewayUnderTest({ backend: 'webhook', environment: { BODY_TIMEOUT_MS: '1500' } })

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** A request on a connection of its own, of which no more is sent than this. */
function begin(text: string, url = gateway.system.url): { received: () => string; socket: Socket } {
  let received = ''
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(text)
  socket.on('data', (chunk) => {
    received += String(chunk)
  })
  socket.on('error', () => undefined)
  sockets.push(socket)
  return { received: () => received, socket }
}

const post = (path: string, length: number, body = '', headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${length}\r\n\r\n${body}`

const meta = '/api/hooks/whatsapp/acme/line'
const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1])
const responded = (all: { received: () => string }[]) =>
  all.map(({ received }) => statusOf(received())).filter((status) => status > 0)

describe('520 requests without a body, from one address without a token,', () => {
  test.each([
    ['the webhook', meta, 99],
    ['login', '/api/auth/login', 99],
    ['the webhook, with 64 KiB of each body sent,', meta, 3_000_000],
  ])('at %s are refused but for a few, and nobody else waits for them', async (_where, path, length) => {
    const body = length > 99 ? 'x'.repeat(65_536) : ''
    const attack = Array.from({ length: 520 }, () => begin(post(path, length, body)))
    const refused = () => responded(attack).length === 520 - 32
    expect(await waitUntil(refused, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
    expect(new Set(responded(attack))).toEqual(new Set([429]))
    const calls = [
      gateway.system.call('POST', '/api/hooks/whatsapp', { token: gateway.token, body: {} }),
      gateway.system.call('POST', meta, { body: {} }),
      gateway.system.call('POST', '/api/auth/me', { token: gateway.token, body: {} }),
      gateway.system.call('POST', '/api/auth/login', { body: { username: 'x', password: 'y' } }),
    ]
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 401])
    expect(responded(attack)).toHaveLength(520 - 32)
  })
})

test('unfinished bodies of one account are bounded, and another account posts meanwhile', async () => {
  const headers = `Authorization: Bearer ${gateway.token}\r\n`
  const attack = Array.from({ length: 520 }, () => begin(post('/api/hooks/whatsapp', 99, '{', headers)))
  const refused = () => responded(attack).length === 520 - 256
  expect(await waitUntil(refused, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  expect(attack.map(({ received }) => received()).find((text) => text !== '')).toMatch(
    /^HTTP\/1\.1 429 .*retry-after: 1.*"code":"rate_limited"/is,
  )
  const other = (await gateway.system.register()).accessToken
  const { status } = await gateway.system.call('POST', '/api/hooks/whatsapp', { token: other, body: {} })
  expect(status).toBe(200)
})

test('unfinished bodies of one workspace, by whatever tokens, give way to another workspace', async () => {
  const headersOf = (token: string) => `Authorization: Bearer ${token}\r\n`
  const eve = (await gateway.system.register()).accessToken
  const tokens = await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const body = { name: `t${n}`, role: 'WORKSPACE_ADMIN' }
      return (await gateway.system.call('POST', '/api/auth/tokens', { token: eve, body })).json
        .token as string
    }),
  )
  const attack = tokens.flatMap((token) =>
    Array.from({ length: 40 }, () => begin(post('/api/hooks/whatsapp', 99, '{', headersOf(token)))),
  )
  const refused = () => responded(attack).length === 320 - 256
  expect(await waitUntil(refused, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  expect(new Set(responded(attack))).toEqual(new Set([429]))
  const { socket, received } = begin(post('/api/hooks/whatsapp', 2, '{', headersOf(gateway.token)))
  const preempted = () => responded(attack).includes(408)
  expect(await waitUntil(preempted, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  socket.write('}')
  expect(await waitUntil(() => received() !== '', { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  expect([statusOf(received()), responded(attack).length]).toEqual([200, 320 - 256 + 1])
})

test('bodies of callers who hung up before their token was known are not counted', async () => {
  const wait = awaitBody({ timeoutMs: 600_000 })
  let begun = 0
  const receive = (req: IncomingMessage, res: PendingResponse) => {
    res.locals.caller = { workspace: { _id: 1 }, account: { _id: 1 } }
    try {
      wait(req, res, () => res.end())
    } catch {
      res.writeHead(429).end()
    }
    begun++
  }
  const server = await listen((req, plain) => {
    const res: PendingResponse = Object.assign(plain, { locals: {} })
    if (req.url !== '/gone') return receive(req, res)
    let left = 2
    for (const one of [req, res]) one.once('close', () => --left === 0 && receive(req, res))
  })
  try {
    // As many as one workspace may have.
    for (let n = 1; n <= 256; n++) {
      const { socket } = begin(post('/gone', 99, '{'), server.url)
      socket.write('', () => socket.destroy())
      expect(await waitUntil(() => begun === n, { timeoutMs: 30_000, intervalMs: 1 })).toBe(true)
    }
    const { socket, received } = begin(post('/', 2, '{'), server.url)
    expect(await waitUntil(() => begun === 257, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
    socket.write('}')
    expect(await waitUntil(() => received() !== '', { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
    expect(statusOf(received())).toBe(200)
  } finally {
    await server.close()
  }
})

test('a body that has not arrived takes no connection to the service', async () => {
  const { socket, received } = begin(post(meta, 2, '{'))
  const { status } = await gateway.system.call('POST', meta, { body: { after: 'it' } })
  expect([status, gateway.backend.requests.map(({ body }) => body)]).toEqual([200, ['{"after":"it"}']])
  socket.write('}')
  expect(await waitUntil(() => statusOf(received()) === 200, { timeoutMs: 10_000, intervalMs: 5 })).toBe(true)
  expect(gateway.backend.requests.at(-1)?.body).toBe('{}')
})

test('bodies arrive whole, in whatever pieces they are sent', async () => {
  const sizes = [0, 1, 65_535, 65_536, 65_537, 200_000]
  for (const size of sizes) {
    const text = 'x'.repeat(size)
    const { socket, received } = begin(post(meta, size))
    for (let at = 0; at < size; at += 30_000) {
      await new Promise((resolve) => socket.write(text.slice(at, at + 30_000), resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const done = () => statusOf(received()) === 200
    expect(await waitUntil(done, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
    expect(gateway.backend.requests.at(-1)?.body).toBe(text)
  }
  const chunked = begin(`POST ${meta} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`)
  chunked.socket.write('0\r\n\r\n')
  const done = () => statusOf(chunked.received()) === 200
  expect(await waitUntil(done, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  expect(gateway.backend.requests.at(-1)?.body).toBe('{}')
})

describe('a body that takes too long', () => {
  test.each([
    ['never comes', 99, ''],
    ['stops in the middle, after the service has it', 3_000_000, 'x'.repeat(70_000)],
  ])('because it %s gets 408 and ends the connection', async (_how, length, body) => {
    const { socket, received } = begin(post(meta, length, body), slow.system.url)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 408 .*connection: close.*"code":"body_timeout"/is)
  })

  test('because it trickles gets 408, however long it is', async () => {
    const { socket, received } = begin(post(meta, 3_000_000), slow.system.url)
    const trickle = setInterval(() => socket.writable && socket.write('x'), 20)
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(trickle)
    expect(statusOf(received())).toBe(408)
  })
})

test('a file may take longer than other bodies while it goes on coming, and not when it stops', async () => {
  const wait = awaitBody({ timeoutMs: 4_500 })
  const server = await listen((req, plain) => {
    const res: PendingResponse = Object.assign(plain, { locals: { isUpload: req.url !== '/other' } })
    Object.assign(res.locals, { caller: { workspace: { _id: 1 }, account: { _id: 1 } } })
    wait(req, res, () => res.end())
  })
  const [file, other, stopped] = ['/file', '/other', '/stopped'].map((path) =>
    begin(post(path, 60_000), server.url),
  )
  const sending = setInterval(() => {
    for (const one of [file, other]) one?.socket.write('x'.repeat(100))
  }, 50)
  try {
    const isOver = () => [other, stopped].every((one) => statusOf(one?.received() ?? '') === 408)
    expect(await waitUntil(isOver, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
    expect(file?.received()).toBe('')
    clearInterval(sending)
    file?.socket.write('x'.repeat(60_000))
    const isThere = () => statusOf(file?.received() ?? '') === 200
    expect(await waitUntil(isThere, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  } finally {
    clearInterval(sending)
    await server.close()
  }
})
