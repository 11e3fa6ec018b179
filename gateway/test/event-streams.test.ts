import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { newRegistration } from '../../services/identity/test/identity-server.ts'
import { systemForTests } from './gateway-system.ts'

const TIMEOUT_MS = 3_000
const system = systemForTests({ UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS) })
const opened: AbortController[] = []
const upstream: ServerResponse[] = []
beforeEach(() => {
  system.backends.dispatcher.respond = (req, res) => {
    if (!`${req.url}`.endsWith('/events')) return void res.end('{}')
    upstream.push(res)
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    res.write('id: 1\n\n')
  }
})
afterEach(() => {
  for (const one of opened.splice(0)) one.abort()
  upstream.length = 0
})

async function open(token: string, path = '/rest/events'): Promise<Response> {
  const controller = new AbortController()
  opened.push(controller)
  return fetch(system.url + path, {
    headers: { authorization: `Bearer ${token}` },
    signal: controller.signal,
  })
}

/** How long it takes from now until the stream ends, in milliseconds. */
async function untilEnd(response: Response): Promise<number> {
  const from = performance.now()
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read());
  return performance.now() - from
}

const login = async ({ email, password }: { email: string; password: string }) =>
  (await system.identity.call('POST', '/api/auth/login', { body: { email, password } })).json
const newUser = async () => {
  const user = newRegistration()
  const registered = (await system.identity.call('POST', '/api/auth/register', { body: user })).json
  return { user, registered, token: (await login(user)).accessToken as string }
}
// 2 s on a machine of its own; here other tests run beside it.
const SOON_MS = 5_000

describe('an event stream through the gateway', () => {
  test('outlasts the timeout for silence, and passes events on as they come', async () => {
    const { token } = await newUser()
    const paths = ['/rest/events', '/rest/threads/t%20x/events']
    const responses = await Promise.all(paths.map((path) => open(token, path)))
    const readers = responses.map(({ body }) =>
      body?.pipeThrough(new TextDecoderStream() as never).getReader(),
    )
    for (const reader of readers) expect((await reader?.read())?.value).toBe('id: 1\n\n')
    // Undici looks after about a second whether a timeout is over.
    await new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS + 1_500))
    for (const res of upstream) res.write('data: late\n\n')
    for (const reader of readers) expect((await reader?.read())?.value).toBe('data: late\n\n')
  })

  test('ends soon after its token was revoked, and those of other tokens go on', async () => {
    const { user, token } = await newUser()
    const other = (await login(user)).accessToken
    const [ended, goesOn] = [await open(token), await open(other)]
    await system.call('POST', '/api/auth/logout', { token })
    expect(await untilEnd(ended)).toBeLessThan(SOON_MS)
    expect((await open(token)).status).toBe(401)
    upstream[1]?.write('data: on\n\n')
    const reader = goesOn.body?.pipeThrough(new TextDecoderStream() as never).getReader()
    let seen = ''
    while (!seen.includes('data: on')) seen += (await reader?.read())?.value
    // The upstream request that was made for the reader ends too.
    expect(await eventually(() => upstream[0]?.destroyed)).toBe(true)
  })

  test('ends soon after an API token was revoked, and after a role was changed', async () => {
    const { registered, token } = await newUser()
    const body = { name: 'reader', role: 'MEMBER' }
    const api = (await system.call('POST', '/api/auth/tokens', { token, body })).json
    const revoked = await open(api.token)
    await system.call('DELETE', `/api/auth/tokens/${api._id}`, { token })
    expect(await untilEnd(revoked)).toBeLessThan(SOON_MS)
    const changed = await open(token)
    const { status } = await system.call('PATCH', `/rest/roles/${registered.role}`, {
      token,
      body: { name: 'BOSS' },
    })
    expect(status).toBe(200)
    expect(await untilEnd(changed)).toBeLessThan(SOON_MS)
    expect((await open(token)).status).toBe(200)
  })

  test('is refused where its token has 20 open, and not once one of them has ended', async () => {
    const { user, token } = await newUser()
    const responses = await Promise.all(Array.from({ length: 20 }, () => open(token)))
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
    const refused = await open(token)
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
      429,
      'too_many_streams',
    ])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await open((await login(user)).accessToken)).status).toBe(200)
    opened[0]?.abort()
    expect(await eventually(async () => (await open(token)).status === 200)).toBe(true)
  })

  test('is for callers with a token in the header only', async () => {
    const { token } = await newUser()
    const without = await fetch(`${system.url}/rest/events?access_token=${token}`)
    expect([without.status, without.headers.get('www-authenticate')]).toEqual([401, expect.any(String)])
    expect((await system.call('POST', '/rest/events', { token, body: {} })).status).toBe(405)
  })

  test('takes none of the room of requests at the service, however many are open', async () => {
    const { user, token } = await newUser()
    // More than the 256 requests that one caller may have at a service.
    for (let n = 0; n < 14; n++) {
      const { accessToken } = await login(user)
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async () => (await open(accessToken)).status),
      )
      expect(new Set(statuses)).toEqual(new Set([200]))
    }
    expect((await system.call('GET', '/rest/messages', { token })).status).toBe(200)
  })
})
