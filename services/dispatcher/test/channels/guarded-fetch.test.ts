import { createServer } from 'node:http'
import { type AddressInfo, BlockList, type LookupFunction } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createGuardedFetch, type GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'

/** Answers at every loopback address; the tests take 127.0.0.2 for a public one. */
const server = createServer((req, res) => {
  reached++
  res.on('close', () => closed++)
  if (req.url === '/large') return void res.writeHead(200).end('x'.repeat(2_000))
  if (req.url === '/never') return
  if (req.url === '/slowly') return void res.writeHead(200).write('x')
  if (req.url === '/half')
    return void res.writeHead(200, { 'content-length': '10' }).write('x', () => res.destroy())
  if (req.url === '/redirect') return void res.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  if (req.url === '/whole') return void res.end('whole')
  if (req.url === '/none') return void res.writeHead(204).end()
  if (req.url === '/two') {
    res.writeHead(200).write('first ')
    second = () => void res.end('second')
    return
  }
  req.setEncoding('utf8')
  let body = ''
  req.on('data', (chunk) => {
    body += chunk
  })
  req.on('end', () =>
    res
      .writeHead(200, { connection: 'close' })
      .end(JSON.stringify([req.method, req.headers['content-type'], body])),
  )
})
let port = 0
let reached = 0
let closed = 0
let second = () => {}
let addresses: string[] = []
const lookup: LookupFunction = (_name, options, done) => {
  const address = addresses.length > 1 ? (addresses.shift() ?? '') : (addresses[0] ?? '')
  const family = address.includes(':') ? 6 : 4
  if (options.all) done(null, [{ address, family }])
  else done(null, address, family)
}
const open: GuardedFetch[] = []
const guarded = (allowedAddresses: string[] = ['127.0.0.2']) => {
  const allowed = new BlockList()
  for (const address of allowedAddresses) allowed.addAddress(address)
  const made = createGuardedFetch({ allowed, lookup, maxSockets: 8, maxBytes: 1_000 })
  open.push(made)
  return made.fetch
}
const at = (path = '/', host = 'public.example') => `http://${host}:${port}${path}`

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  for (const one of open) one.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
beforeEach(() => {
  reached = 0
  closed = 0
  addresses = ['127.0.0.2']
})

describe('a fetch of what a workspace named', () => {
  test('sends a body and its content type, text and forms alike', async () => {
    const post = async (init: RequestInit) => (await guarded()(at(), { method: 'POST', ...init })).json()
    expect(await post({ body: '{}', headers: { 'content-type': 'application/json' } })).toEqual([
      'POST',
      'application/json',
      '{}',
    ])
    const form = new FormData()
    form.append('file', new Blob(['bytes'], { type: 'audio/ogg' }), 'a.ogg')
    const [, type, body] = (await post({ body: form })) as string[]
    expect(type).toMatch(/^multipart\/form-data; boundary=/)
    expect(body).toContain('filename="a.ogg"')
  })

  test.each([
    ['an object', { 'content-type': 'application/json' }],
    ['an object in capitals', { 'Content-Type': 'application/json' }],
    ['a list', [['content-type', 'application/json']]],
    ['Headers', new Headers({ 'content-type': 'application/json' })],
  ] satisfies [string, RequestInit['headers']][])(
    'sends a text whose headers are %s, to a URL with a password too',
    async (_form, headers) => {
      const url = at().replace('http://', 'http://name:password@')
      const response = await guarded()(url, { method: 'POST', body: '{}', headers })
      expect(await response.json()).toEqual(['POST', 'application/json', '{}'])
    },
  )

  test.each([
    ...['127.0.0.1', '0.0.0.0', '10.1.2.3', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1'],
    ...['::1', 'fe80::1', 'fd00::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'],
  ])('at %s is refused, by name and by address', async (address) => {
    addresses = [address]
    const literal = address.includes(':') ? `[${address}]` : address
    const fetch = guarded([])
    for (const host of ['private.example', literal])
      await expect(fetch(at('/', host))).rejects.toMatchObject({ failure: 'refused_target' })
    expect(reached).toBe(0)
  })

  test('is refused when its name leads to a private address the second time', async () => {
    addresses = ['127.0.0.2', '127.0.0.1']
    const fetch = guarded()
    expect((await fetch(at())).status).toBe(200)
    await expect(fetch(at())).rejects.toMatchObject({ failure: 'refused_target' })
    expect(reached).toBe(1)
  })

  test('is not redirected', async () => {
    const response = await guarded()(at('/redirect'))
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://169.254.169.254/'])
    expect(reached).toBe(1)
  })

  test('says that nothing left when nobody listens', async () => {
    await expect(guarded()('http://public.example:1/')).rejects.toMatchObject({ failure: 'not_sent' })
  })
})

describe('the body of a response', () => {
  test('is read as it comes', async () => {
    const response = await guarded()(at('/two'))
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('first ')
    second()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('second')
    expect((await reader.read()).done).toBe(true)
  })

  test('may be absent', async () => {
    const response = await guarded()(at('/none'))
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  test('that is too large is given up, and the connection closed', async () => {
    const response = await guarded()(at('/large'))
    await expect(response.text()).rejects.toMatchObject({ failure: 'answer_too_large', status: 200 })
    await eventually(() => closed === 1)
  })

  test('may be cancelled, and broken off, when all of it has come', async () => {
    const readFirst = async (init?: RequestInit) => {
      const response = await guarded()(at('/whole'), init)
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('whole')
      return reader
    }
    await (await readFirst()).cancel()
    const stop = new AbortController()
    const reader = await readFirst({ signal: stop.signal })
    stop.abort(new Error('stopped'))
    await expect(reader.read()).rejects.toThrow('stopped')
  })

  test('that breaks off is an error', async () => {
    const response = await guarded()(at('/half'))
    await expect(response.text()).rejects.toMatchObject({ failure: 'no_answer' })
  })

  test('is closed when nobody reads it to its end', async () => {
    const response = await guarded()(at('/slowly'))
    await response.body?.cancel()
    await eventually(() => closed === 1)
  })
})

describe('a deadline', () => {
  test.each(['/never', '/slowly'])('ends %s with its reason, and closes the connection', async (path) => {
    const signal = AbortSignal.timeout(50)
    const read = async () => (await guarded()(at(path), { signal })).text()
    await expect(read()).rejects.toMatchObject({ name: 'TimeoutError' })
    await eventually(() => closed === 1)
  })

  test('that passed before the call lets nothing leave', async () => {
    await expect(guarded()(at(), { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    })
    expect(reached).toBe(0)
  })
})
