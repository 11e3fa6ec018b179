import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import type { PendingResponse } from '@parley/shared/exchange'
import type { Target } from '@parley/shared/service-calls'
import { buildConnector } from 'undici'
import { createUpstreamClient } from '../src/upstream-client.ts'
import { gatewayUnderTest, listen, startSystem, stop } from './gateway-system.ts'

const CHUNK = Buffer.alloc(65_536, 'x')

const gateway = gatewayUnderTest({ backend: 'configuration', environment: { UPSTREAM_TIMEOUT_MS: '1500' } })

const get = () => gateway.system.call('GET', '/rest/jobs/1', { token: gateway.token })

/** Posts chunks of 64 KiB without saying how many. */
function sendInChunks(path: string, count: number): Promise<Response> {
  const chunks = Readable.from(Array.from({ length: count }, () => Buffer.alloc(65_536, 'x')))
  return fetch(gateway.system.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: Readable.toWeb(chunks),
    duplex: 'half',
  } as RequestInit)
}

test('a stopped service gives 503, and works as soon as it is started', async () => {
  await stop(gateway.backend.server)
  const { status, json, headers } = await get()
  expect([status, json.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  expect(JSON.stringify(json)).not.toMatch(/ECONN|127\.0\.0\.1/)
  await listen(gateway.backend.server, gateway.backend.url)
  expect((await get()).status).toBe(200)
})

test('a silent service gives 504', async () => {
  gateway.backend.respond = () => undefined
  const started = performance.now()
  const { status, json, headers } = await get()
  expect([status, json.code, headers.get('retry-after')]).toEqual([504, 'upstream_timeout', '1'])
  expect(performance.now() - started).toBeLessThan(10_000)
})

test('a service that closes the connection before its response gives 503', async () => {
  gateway.backend.respond = (req) => void req.socket.destroy()
  expect((await get()).status).toBe(503)
})

test('a service that sends bytes that are not HTTP gives 502', async () => {
  gateway.backend.respond = (req) => void req.socket.end('SSH-2.0-OpenSSH\r\n')
  const { status, json } = await get()
  expect([status, json.code]).toEqual([502, 'bad_gateway'])
})

test('a response that breaks off or stalls ends the caller’s connection', async () => {
  for (const end of [(destroy: () => void) => destroy(), () => undefined]) {
    gateway.backend.respond = (req, res) => {
      res.writeHead(200, { 'content-length': '1000' })
      res.write('{"half":', () => end(() => req.socket.destroy()))
    }
    const response = await fetch(`${gateway.system.url}/rest/jobs/1`, {
      headers: { authorization: `Bearer ${gateway.token}` },
    })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  }
})

test('a response that its caller does not read ends the connection to the service', async () => {
  let isOpen = false
  gateway.backend.respond = (_req, res) => {
    isOpen = true
    res.on('close', () => {
      isOpen = false
    })
    const write = () => {
      while (res.write(CHUNK));
    }
    res.on('drain', write)
    write()
  }
  const socket = connect(Number(new URL(gateway.system.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(`GET /rest/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`)
  expect(await waitUntil(() => isOpen, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  expect(await waitUntil(() => !isOpen, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  socket.destroy()
})

/** Writes to a connection whose other end does not read, until so much that what is written next waits, too. */
async function fill(socket: Socket): Promise<void> {
  const isFull = () => {
    while (socket.writableLength === 0) socket.write(Buffer.alloc(8_192))
    return new Promise<boolean>((resolve) => setImmediate(() => resolve(socket.writableLength > 0)))
  }
  expect(await waitUntil(isFull, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
}

test.each([
  ['in one piece', { 'content-length': '1000' }],
  ['in chunks', {}],
])('a response that has come whole, %s, and is not read does not wait for ever', async (_name, headers) => {
  const service = createServer((_req, res) => void res.writeHead(200, headers).end('x'.repeat(1_000)))
  const origin = await listen(service)
  const client = createUpstreamClient({ timeoutMs: 200, silenceMs: 60_000, connect: buildConnector({}) })
  let isWhole = false
  let isOpen = true
  const gate = createServer(async (req, plain) => {
    const res: PendingResponse = Object.assign(plain, { locals: {} })
    await fill(req.socket)
    req.socket.once('close', () => {
      isOpen = false
    })
    const target = { origin, host: new URL(origin).host } as Target
    const end = client.send({ target, headers: {}, req, res, fail: () => undefined })
    res.once('close', end)
    expect(await waitUntil(() => res.writableEnded, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
    isWhole = true
  })
  const socket = connect(Number(new URL(await listen(gate)).port), '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await waitUntil(() => isWhole, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  expect(await waitUntil(() => !isOpen, { timeoutMs: 5_000, intervalMs: 20 })).toBe(true)
  socket.destroy()
  await client.close()
  await Promise.all([stop(gate), stop(service)])
})

test.each([
  ['small', 1_000],
  ['large', 1_000_000],
])('a %s response behind an event stream on its connection does not wait for ever', async (_name, bytes) => {
  gateway.system.backends.dispatcher.respond = (_req, res) =>
    void res.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
  let hasResponded = false
  gateway.backend.respond = (_req, res) => {
    res.end(Buffer.alloc(bytes, 'x'))
    hasResponded = true
  }
  const socket = connect(Number(new URL(gateway.system.url).port), '127.0.0.1').resume()
  let isOpen = true
  socket.on('close', () => {
    isOpen = false
  })
  const end = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n\r\n`
  socket.write(`GET /rest/events ${end}GET /rest/jobs ${end}`)
  expect(await waitUntil(() => hasResponded, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  expect(await waitUntil(() => !isOpen, { timeoutMs: 10_000, intervalMs: 20 })).toBe(true)
})

test('an informational response is not taken for the response', async () => {
  gateway.backend.respond = (_req, res) => {
    res.writeEarlyHints({ link: '</style.css>; rel=preload' })
    res.writeHead(201, { 'content-type': 'application/json' }).end('{"made":true}')
  }
  const { status, json, headers } = await get()
  expect([status, json, headers.get('link')]).toEqual([201, { made: true }, null])
})

test('the request to the service ends when its caller hangs up', async () => {
  let gone = false
  let arrived = false
  gateway.backend.respond = (req, res) => {
    arrived = true
    req.resume()
    res.on('close', () => {
      gone = true
    })
  }
  const aborting = new AbortController()
  const headers = { authorization: `Bearer ${gateway.token}` }
  const request = fetch(`${gateway.system.url}/rest/jobs/1`, { headers, signal: aborting.signal })
  const pending = expect(request).rejects.toMatchObject({ name: 'AbortError' })
  expect(await waitUntil(() => arrived, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  aborting.abort()
  await pending
  expect(await waitUntil(() => gone, { timeoutMs: 300, intervalMs: 5 })).toBe(true)
})

test('a large body streams through in both directions', async () => {
  gateway.backend.respond = (req, res) => void req.pipe(res)
  const body = JSON.stringify({ text: 'x'.repeat(3_000_000) })
  const { status, text } = await gateway.system.call('POST', '/rest/jobs', {
    token: gateway.token,
    raw: body,
  })
  expect(status).toBe(200)
  expect(text === body).toBe(true)
})

test('connections to a service are reused', async () => {
  const sockets = new Set<unknown>()
  gateway.backend.respond = (req, res) => {
    sockets.add(req.socket)
    req.resume().on('end', () => res.end('{}'))
  }
  for (let i = 0; i < 20; i++)
    await gateway.system.call('POST', '/rest/jobs', { token: gateway.token, body: { i } })
  expect(sockets.size).toBeLessThanOrEqual(2)
})

test('the caller gets the refusal of a service that has not read the whole body', async () => {
  gateway.backend.respond = (_req, res) => {
    res.writeHead(413, { 'content-type': 'application/problem+json' })
    res.end('{"code":"body_too_large"}')
  }
  for (let i = 0; i < 5; i++) {
    const { status, headers } = await sendInChunks('/rest/jobs', 48)
    expect([status, headers.get('content-type')]).toEqual([413, 'application/problem+json'])
  }
})

test.each([
  ['POST', '/rest/jobs', 4 * 1024 * 1024],
  ['POST', '/api/auth/login', 64 * 1024],
])('%s %s with more than %i bytes is 413 at once', async (method, path, limit) => {
  const raw = JSON.stringify('x'.repeat(limit - 1))
  const { status, json } = await gateway.system.call(method, path, { token: gateway.token, raw })
  expect([status, json.code]).toEqual([413, 'body_too_large'])
  const atLimit = JSON.stringify('x'.repeat(limit - 2))
  expect((await gateway.system.call(method, path, { token: gateway.token, raw: atLimit })).status).not.toBe(
    413,
  )
})

test('only a file of people may be larger', async () => {
  const headers = { 'content-type': 'text/csv' }
  const send = (path: string) =>
    gateway.system.call('POST', path, { token: gateway.token, headers, raw: 'x'.repeat(5 * 1024 * 1024) })
  expect((await send('/rest/people/imports')).status).not.toBe(413)
  expect((await send('/rest/people/imports/1')).status).toBe(413)
  expect((await send('/rest/people')).status).toBe(413)
})

test('a chunked body that is too large gets 413 from the service', async () => {
  const { status } = await sendInChunks('/api/auth/login', 16)
  expect(status).toBe(413)
})

test('only the requests in flight at a stopped instance fail when there are several', async () => {
  const servesName = (name: string) => createServer((_req, res) => void res.end(JSON.stringify(name)))
  const servers = [servesName('one'), servesName('two')]
  const urls = await Promise.all(servers.map((server) => listen(server)))
  const several = await startSystem({ CONFIGURATION_URL: urls.join(',') })
  try {
    const { accessToken } = await several.register()
    const ask = () => several.call('GET', '/rest/jobs', { token: accessToken })
    const seen = new Set<string>()
    for (let i = 0; i < 4; i++) seen.add((await ask()).json)
    expect([...seen].sort()).toEqual(['one', 'two'])
    await stop(servers[0]!)
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) statuses.push((await ask()).status)
    expect(statuses.filter((status) => status === 503).length).toBeLessThanOrEqual(1)
    expect(statuses.at(-1)).toBe(200)
  } finally {
    await several.close()
    await Promise.all(servers.map(stop))
  }
})
