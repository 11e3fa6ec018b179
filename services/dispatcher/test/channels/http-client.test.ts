import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, BlockList, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createAuthority, trustInTests } from '@parley/local/testing/test-authority'
import { createHttpClient, type HttpClient } from '../../src/channels/http/http-client.ts'

/** Answers at every loopback address; the tests take 127.0.0.2 for a public one. */
const server = createServer((req, res) => {
  reached++
  if (req.url === '/large') return void res.writeHead(200).end('x'.repeat(2_000))
  if (req.url === '/never') return
  if (req.url === '/broken') return void req.socket.destroy()
  if (req.url === '/hinted') return res.writeEarlyHints({ link: '</a>' }, () => void res.end('hinted'))
  if (req.url === '/authorized') return void res.end(req.headers.authorization)
  if (req.url === '/headers') return void res.end(JSON.stringify(req.headers))
  if (req.url === '/slowly') return void res.writeHead(200).write('x')
  if (req.url === '/kept') return void res.end('kept')
  if (req.url === '/redirect') return void res.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  // The next call opens a connection of its own, and so asks for the address again.
  res.writeHead(200, { connection: 'close' }).end(`${req.method} ${req.headers['content-length']}`)
})
let port = 0
let reached = 0
let addresses: string[] = []
/** Names resolve to the addresses in turn. */
const lookup: LookupFunction = (_name, options, done) => {
  const address = addresses.length > 1 ? (addresses.shift() ?? '') : (addresses[0] ?? '')
  const family = address.includes(':') ? 6 : 4
  if (options.all) done(null, [{ address, family }])
  else done(null, address, family)
}
const open: HttpClient[] = []
const closing: (() => Promise<void>)[] = []
const client = (addresses: string[]) => {
  const allowed = new BlockList()
  for (const address of addresses) allowed.addAddress(address)
  const made = createHttpClient({ allowed, lookup })
  open.push(made)
  return made
}
const limits = { timeoutMs: 1_000, maxBytes: 1_000 }
const call = (url: string, http = client(['127.0.0.2'])) =>
  http.send({ method: 'POST', url, headers: {}, body: 'é', ...limits })
const at = (host: string, path = '/') => `http://${host}:${port}${path}`

beforeAll(async () => {
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  for (const one of open) one.close()
  for (const close of closing) await close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
beforeEach(() => {
  reached = 0
})

describe('a target that a workspace named', () => {
  test('is called when it is allowed', async () => {
    addresses = ['127.0.0.2']
    expect((await call(at('public.example'))).body).toBe('POST 2')
  })

  test('is told who calls, and what is read of its answer, unless the call says so itself', async () => {
    addresses = ['127.0.0.2']
    const http = client(['127.0.0.2'])
    const asked = { method: 'GET', url: at('public.example', '/headers'), ...limits }
    const seen = async (headers: Record<string, string>) =>
      JSON.parse((await http.send({ ...asked, headers })).body)
    expect(await seen({})).toMatchObject({
      'user-agent': expect.stringMatching(/^Parley\/\d+\.\d+\.\d+/),
      accept: expect.stringMatching(/^application\/json, .*\*\/\*/),
    })
    const own = { 'User-Agent': 'Shop', Accept: 'text/csv' }
    expect(await seen(own)).toMatchObject({ 'user-agent': 'Shop', accept: 'text/csv' })
  })

  test('is looked up once for all calls that need its address at the same time', async () => {
    const lookups: (() => void)[] = []
    const allowed = new BlockList()
    allowed.addAddress('127.0.0.2')
    const slow: LookupFunction = (_name, options, done) => {
      lookups.push(() =>
        options.all ? done(null, [{ address: '127.0.0.2', family: 4 }]) : done(null, '127.0.0.2', 4),
      )
    }
    const http = createHttpClient({ allowed, lookup: slow })
    open.push(http)
    const calls = Array.from({ length: 8 }, () => call(at('shared.example'), http))
    await eventually(async () => lookups.length > 0)
    expect(lookups).toHaveLength(1)
    lookups[0]?.()
    expect((await Promise.all(calls)).map(({ body }) => body)).toEqual(Array(8).fill('POST 2'))
    expect(lookups).toHaveLength(1)
  })

  test('gets nothing of a call that may not leave any more once it is connected', async () => {
    addresses = ['127.0.0.2']
    const http = client(addresses)
    const asked = { method: 'POST', url: at('public.example', '/kept'), headers: {}, body: 'é', ...limits }
    await expect(http.send({ ...asked, mayLeave: () => false })).rejects.toMatchObject({
      failure: 'not_sent',
    })
    expect(reached).toBe(0)
    await http.send({ ...asked, mayLeave: () => true })
    await expect(http.send({ ...asked, mayLeave: () => false })).rejects.toMatchObject({
      failure: 'not_sent',
    })
    expect(reached).toBe(1)
  })

  test('whose name leads to a private address the second time is refused then', async () => {
    const http = client(['127.0.0.2'])
    addresses = ['127.0.0.2', '127.0.0.1']
    expect((await call(at('rebound.example'), http)).status).toBe(200)
    await expect(call(at('rebound.example'), http)).rejects.toMatchObject({ failure: 'refused_target' })
    expect(reached).toBe(1)
  })

  test.each([
    ...[
      '127.0.0.1',
      '0.0.0.0',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.0.1',
      '169.254.169.254',
      '100.64.0.1',
      '::1',
    ],
    ...['fe80::1', 'fd00::1', '::ffff:127.0.0.1', '::ffff:169.254.169.254', '64:ff9b::7f00:1'],
  ])('at %s is refused, by name and by address', async (address) => {
    addresses = [address]
    const host = address.includes(':') ? `[${address}]` : address
    const http = client([])
    for (const name of ['private.example', host])
      await expect(call(at(name), http)).rejects.toMatchObject({ failure: 'refused_target' })
    expect(reached).toBe(0)
  })

  test.each(['http://2130706433', 'http://0x7f.1', 'http://017700000001', 'http://127.1'])(
    'written as %s is refused too',
    async (url) => {
      await expect(call(`${url}:${port}/`, client([]))).rejects.toMatchObject({ failure: 'refused_target' })
      expect(reached).toBe(0)
    },
  )

  test('that redirects is not followed', async () => {
    addresses = ['127.0.0.2']
    expect((await call(at('public.example', '/redirect'))).status).toBe(302)
  })
})

describe('an answer', () => {
  test.each([
    ['that is too large', '/large', { failure: 'answer_too_large', status: 200 }],
    ['that never comes', '/never', { failure: 'no_answer' }],
    ['that never ends', '/slowly', { failure: 'no_answer' }],
  ])('%s is given up', async (_name, path, failure) => {
    addresses = ['127.0.0.2']
    await expect(call(at('public.example', path))).rejects.toMatchObject(failure)
  })

  test('of nobody means that nothing left', async () => {
    addresses = ['127.0.0.2']
    await expect(call('http://public.example:1/')).rejects.toMatchObject({ failure: 'not_sent' })
  })
})

describe('a call', () => {
  test.each([
    ['on a new connection', []],
    ['on one that served another call', ['/kept']],
  ])('whose connection breaks off %s is not made again', async (_name, before) => {
    addresses = ['127.0.0.2']
    const http = client(addresses)
    for (const path of before) await call(at('public.example', path), http)
    await expect(call(at('public.example', '/broken'), http)).rejects.toMatchObject({ failure: 'no_answer' })
    await call(at('public.example', '/kept'), http)
    expect(reached).toBe(before.length + 2)
  })

  test('is broken off by its signal', async () => {
    addresses = ['127.0.0.2']
    const http = client(addresses)
    const controller = new AbortController()
    const asked = { method: 'GET', url: at('public.example', '/never'), headers: {}, ...limits }
    const failed = expect(http.send({ ...asked, signal: controller.signal })).rejects.toMatchObject({
      failure: 'no_answer',
    })
    await eventually(() => reached === 1)
    controller.abort()
    await failed
    await expect(http.send({ ...asked, signal: controller.signal })).rejects.toMatchObject({
      failure: 'not_sent',
    })
    expect(reached).toBe(1)
  })

  test('shows the name and the password of its URL', async () => {
    addresses = ['127.0.0.2']
    const url = at('na%20me:p%C3%A4ss@public.example', '/authorized')
    expect((await call(url)).body).toBe(`Basic ${Buffer.from('na me:päss').toString('base64')}`)
  })

  test('has the response that follows a hint', async () => {
    addresses = ['127.0.0.2']
    expect(await call(at('public.example', '/hinted'))).toMatchObject({ status: 200, body: 'hinted' })
  })
})

describe('over TLS', () => {
  const start = async (issued: { cert: string; key: string }) => {
    const secure = createSecureServer(issued, (_req, res) => {
      reached++
      res.end('secret')
    })
    await new Promise<void>((resolve) => secure.listen(0, '0.0.0.0', resolve))
    closing.push(() => {
      secure.closeAllConnections()
      return new Promise((resolve) => secure.close(() => resolve()))
    })
    return `https://public.example:${(secure.address() as AddressInfo).port}/`
  }

  test('the certificate must be of the name in the URL, and of a known authority', async () => {
    addresses = ['127.0.0.2']
    const known = await createAuthority()
    trustInTests(known)
    expect((await call(await start(await known.issue('public.example')))).body).toBe('secret')
    const unknown = await createAuthority()
    for (const issued of [await known.issue('other.example'), await unknown.issue('public.example')])
      await expect(call(await start(issued))).rejects.toMatchObject({ failure: 'not_sent' })
    expect(reached).toBe(1)
  })

  test('a private address is refused', async () => {
    const url = await start(await (await createAuthority()).issue('public.example'))
    addresses = ['127.0.0.1']
    await expect(call(url)).rejects.toMatchObject({ failure: 'refused_target' })
  })
})

test('a connection serves the next call, and is closed when there is none for a while', async () => {
  addresses = ['127.0.0.2']
  const http = client(['127.0.0.2'])
  const connections = countConnections()
  await call(at('public.example', '/kept'), http)
  await call(at('public.example', '/kept'), http)
  expect(connections()).toBe(1)
  const open = promisify(server.getConnections.bind(server))
  await eventually(async () => (await open()) === 0)
})

test('as many connections are opened as there are calls at once', async () => {
  addresses = ['127.0.0.2']
  const http = client(['127.0.0.2'])
  const connections = countConnections()
  const callFiveTimes = async () => {
    for (let n = 0; n < 5; n++) await call(at('public.example', '/kept'), http)
  }
  await Promise.all(Array.from({ length: 20 }, callFiveTimes))
  expect(reached).toBe(100)
  expect(connections()).toBe(20)
})

/** Says how many connections the server has taken since. */
function countConnections(): () => number {
  let connections = 0
  server.on('connection', () => connections++)
  return () => connections
}
