import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createParley, type Parley, type ParleyOptions } from '@parley/client'
import { ParleyError, succeeded } from '@parley/client/parley-error'
import type { SessionTokens } from '@parley/client/session'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { type Parley as System, startParley } from '@parley/local/testing/start-parley'

const password = 'correct horse battery staple'
const username = 'ana@example.com'

let system: System
/** Stands in front of the gateway: counts requests, and answers some of them itself. */
let edge: Listening
let passed: string[] = []
let interfere: (req: IncomingMessage, res: ServerResponse) => boolean = () => false

beforeAll(async () => {
  system = await startParley()
  edge = await listen((req, res) => {
    passed.push(`${req.method} ${req.url?.split('?')[0]}`)
    if (!interfere(req, res)) void forward(req, res)
  })
  const body = { name: 'Ana', email: username, phone: '1', password, namespace: 'acme' }
  await succeeded(createParley({ url: system.url }).api.POST('/api/auth/register', { body }))
})
afterAll(async () => {
  await edge.close()
  await system.close()
})

async function forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  const { host: _host, connection: _connection, 'content-length': _length, ...headers } = req.headers
  const response = await fetch(system.url + req.url, {
    method: req.method ?? 'GET',
    headers: headers as Record<string, string>,
    ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
  })
  const {
    'content-encoding': _coding,
    'transfer-encoding': _transfer,
    ...received
  } = Object.fromEntries(response.headers)
  res.writeHead(response.status, received).end(Buffer.from(await response.arrayBuffer()))
}

function client(options: Partial<ParleyOptions> = {}): Parley {
  passed = []
  interfere = () => false
  return createParley({ url: edge.url, login: { username, password }, ...options })
}

const count = (request: string) => passed.filter((each) => each === request).length

describe('a session', () => {
  test('logs in once for all requests at the same time', async () => {
    const parley = client()
    const calls = Array.from({ length: 20 }, () => succeeded(parley.api.POST('/api/auth/me', { body: {} })))
    const names = (await Promise.all(calls)).map(({ username }) => username)
    expect(new Set(names)).toEqual(new Set([username]))
    expect([count('POST /api/auth/login'), count('POST /api/auth/me')]).toEqual([1, 20])
  })

  test('refreshes once for all requests whose token is refused, and hands over the new tokens', async () => {
    const sessions: SessionTokens[] = []
    const onSession = (session: SessionTokens) => void sessions.push(session)
    const parley = client({ onSession })
    await succeeded(parley.api.POST('/api/auth/me', { body: {} }))
    const refused = sessions[0]?.accessToken
    interfere = (req, res) => {
      if (req.headers.authorization !== `Bearer ${refused}`) return false
      res
        .writeHead(401, { 'content-type': 'application/problem+json' })
        .end('{"code":"unauthenticated","title":"x"}')
      return true
    }
    await Promise.all(
      Array.from({ length: 10 }, () => succeeded(parley.api.POST('/api/auth/me', { body: {} }))),
    )
    expect([count('POST /api/auth/login'), count('POST /api/auth/refresh')]).toEqual([1, 1])
    expect(sessions).toHaveLength(2)
  })

  test('logs in anew where it can not be refreshed any more', async () => {
    const session = { accessToken: 'gone', refreshToken: 'gone', tokenType: 'Bearer' as const, expiresAt: '' }
    const parley = client({ session })
    await succeeded(parley.api.POST('/api/auth/me', { body: {} }))
    expect([count('POST /api/auth/refresh'), count('POST /api/auth/login')]).toEqual([1, 1])
  })

  test.each([503, 429])('outlasts a refresh that is answered with %d', async (status) => {
    const begun = createParley({ url: system.url }).api.POST('/api/auth/login', {
      body: { username, password },
    })
    const session = { ...(await succeeded(begun)), accessToken: 'ended' }
    const parley = client({ session, login: undefined, repeatForMs: 0 })
    interfere = (req, res) => {
      if (req.url !== '/api/auth/refresh') return false
      res.writeHead(status, { 'retry-after': '1' }).end()
      return true
    }
    const call = () => succeeded(parley.api.POST('/api/auth/me', { body: {} }))
    for (let times = 0; times < 2; times++) await expect(call()).rejects.toMatchObject({ status })
    interfere = () => false
    expect((await call()).username).toBe(username)
  })

  test('is over where its refresh is refused', async () => {
    const session = { accessToken: 'gone', refreshToken: 'gone', tokenType: 'Bearer' as const, expiresAt: '' }
    const parley = client({ session, login: undefined })
    const call = () => succeeded(parley.api.POST('/api/auth/me', { body: {} }))
    for (let times = 0; times < 2; times++) await expect(call()).rejects.toMatchObject({ status: 401 })
    expect(count('POST /api/auth/refresh')).toBe(1)
  })

  test('a refusal to log in is thrown with its problem', async () => {
    const parley = client({ login: { username, password: 'another one' } })
    const refused = await parley.messages.get('x').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ParleyError)
    expect(refused).toMatchObject({ status: 401, code: 'invalid_credentials' })
  })
})

const message = (text: string, thread = 'client') => ({
  extId: 'nowhere',
  user: { phone: '+55 11 98888-7777' },
  thread: { extId: thread },
  answer: { message: text },
})

describe('a send', () => {
  test('that is unavailable or whose connection breaks is repeated under its key, as one message', async () => {
    const parley = client()
    const keys = new Set<unknown>()
    let attempts = 0
    interfere = (req, res) => {
      if (req.url !== '/api/hooks/whatsapp') return false
      keys.add(req.headers['idempotency-key'])
      attempts++
      if (attempts === 1) res.writeHead(503, { 'retry-after': '0' }).end()
      else if (attempts === 2) req.socket.destroy()
      return attempts < 3
    }
    const { id, isRepeat } = await parley.messages.send(message('once', 'repeated'))
    expect([attempts, keys.size, isRepeat]).toEqual([3, 1, false])
    const found = await eventually(async () => {
      const all = await Array.fromAsync(parley.messages.list({ thread: 'repeated' }))
      return all.length > 0 ? all : undefined
    })
    expect(found.map(({ _id }) => _id)).toEqual([id])
  })

  test('waits as long as Retry-After says', async () => {
    const parley = client()
    const at: number[] = []
    interfere = (req, res) => {
      if (req.url !== '/api/hooks/whatsapp') return false
      at.push(performance.now())
      if (at.length > 1) return false
      res.writeHead(503, { 'retry-after': '1' }).end()
      return true
    }
    await parley.messages.send(message('later'))
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(990)
  })

  test('is given up when its time is over, and when Retry-After lies beyond it', async () => {
    const parley = client({ repeatForMs: 2_000 })
    let attempts = 0
    interfere = (req, res) => {
      if (req.url !== '/api/hooks/whatsapp') return false
      attempts++
      res.writeHead(503, { 'retry-after': '60' }).end()
      return true
    }
    await expect(parley.messages.send(message('never'))).rejects.toMatchObject({ status: 503 })
    expect(attempts).toBe(1)
  })

  test('is not repeated for what is wrong with it, and tells what that is', async () => {
    const parley = client()
    const wrong = { ...message('x'), thread: { extId: 5 } } as never
    await expect(parley.messages.send(wrong)).rejects.toMatchObject({
      code: 'validation_failed',
      problem: { errors: [{ path: '/thread/extId' }] },
    })
    expect(count('POST /api/hooks/whatsapp')).toBe(1)
  })

  test('with the key of an earlier one is that one', async () => {
    const parley = client()
    const first = await parley.messages.send(message('same'), { idempotencyKey: 'k-1' })
    expect(await parley.messages.send(message('same'), { idempotencyKey: 'k-1' })).toEqual({
      id: first.id,
      isRepeat: true,
      warning: 'unknown-channel',
    })
  })

  test('a post without a key is not repeated', async () => {
    const parley = client()
    interfere = (req) => {
      if (req.url !== '/rest/steps') return false
      req.socket.destroy()
      return true
    }
    const body = { name: 'x', description: '', instructions: '', submitWhen: '' }
    await expect(parley.api.POST('/rest/steps', { body })).rejects.toThrow()
    expect(count('POST /rest/steps')).toBe(1)
  })
})

describe('a list', () => {
  test('is read page by page, as far as it is asked for', async () => {
    const parley = client()
    for (let n = 0; n < 5; n++) await parley.messages.send(message(`${n}`, 'pages'))
    await eventually(async () => {
      const all = await Array.fromAsync(parley.messages.list({ thread: 'pages' }))
      return all.length === 5 ? all : undefined
    })
    passed = []
    const some: string[] = []
    for await (const { _id } of parley.messages.list({ thread: 'pages', limit: 2 })) {
      some.push(_id)
      if (some.length === 3) break
    }
    expect([some.length, count('GET /rest/messages')]).toEqual([3, 2])
    expect(await Array.fromAsync(parley.messages.list({ thread: 'pages', limit: 2 }))).toHaveLength(5)
  })

  test('takes several states, and any path that has pages', async () => {
    const parley = client()
    const states = parley.messages.list({ thread: 'pages', state: ['received', 'unrouted'] })
    expect(await Array.fromAsync(states)).toHaveLength(5)
    const roles = await Array.fromAsync(parley.list('/rest/roles', { limit: 1 }))
    expect(roles.map(({ name }) => name)).toContain('WORKSPACE_ADMIN')
    expect(await Array.fromAsync(parley.list('/rest/check'))).toEqual([])
  })
})

describe('a put with a condition', () => {
  const body = { name: 'x', description: '', instructions: '', submitWhen: '' }
  const put = (parley: Parley, id: number, header: Record<string, string>) =>
    parley.api.PUT('/rest/steps/{id}', { params: { path: { id }, header }, body })

  test.each([
    ['If-Match', 901],
    ['If-None-Match', 902],
  ])('by %s whose answer is lost is not repeated, so that it does not meet itself', async (name, id) => {
    const parley = client()
    if (name === 'If-Match') await put(parley, id, {})
    passed = []
    interfere = (req, res) => {
      if (req.url !== `/rest/steps/${id}` || req.method !== 'PUT') return false
      res.writeHead = () => res.destroy() as never
      void forward(req, res)
      return true
    }
    const condition = name === 'If-Match' ? '"1"' : '*'
    await expect(put(parley, id, { [name]: condition })).rejects.toThrow()
    expect(count(`PUT /rest/steps/${id}`)).toBe(1)
    interfere = () => false
    const { response } = await parley.api.GET('/rest/steps/{id}', { params: { path: { id } } })
    expect(response.headers.get('etag')).toBe(name === 'If-Match' ? '"2"' : '"1"')
  })

  test('that was refused for its rate is repeated, and one without a condition also after a lost answer', async () => {
    const parley = client()
    let attempts = 0
    interfere = (req, res) => {
      if (req.method !== 'PUT' || attempts++ > 0) return false
      if (req.headers['if-none-match'] === undefined) req.socket.destroy()
      else res.writeHead(429, { 'retry-after': '0' }).end()
      return true
    }
    expect((await put(parley, 903, { 'If-None-Match': '*' })).response.status).toBe(200)
    expect(attempts).toBe(2)
    attempts = 0
    expect((await put(parley, 903, {})).response.status).toBe(200)
    expect(attempts).toBe(2)
  })
})
