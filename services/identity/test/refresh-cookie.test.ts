import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { identityForTests, newRegistration } from './identity-server.ts'

const document: {
  paths: Record<string, { post?: { responses: Record<string, unknown> } }>
} = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'))
const identity = identityForTests()
const HOST = 'console.example.com'
const PAGE = { origin: `https://${HOST}`, 'x-forwarded-host': HOST }
let user: ReturnType<typeof newRegistration>

beforeEach(async () => {
  user = newRegistration()
  await identity.call('POST', '/api/auth/register', { body: user })
})

type Headers = Record<string, string>
const login = (headers: Headers = PAGE) => {
  const body = { username: user.email, password: user.password, cookie: true }
  return identity.call('POST', '/api/auth/login', { body, headers })
}
const post = (path: string, cookie: string, headers: Headers = PAGE) =>
  identity.call('POST', `/api/auth/${path}`, { headers: { ...headers, cookie } })
const setCookieOf = ({ headers }: { headers: globalThis.Headers }) => headers.getSetCookie()[0] ?? ''
const cookieOf = (response: { headers: globalThis.Headers }) => setCookieOf(response).split(';')[0] ?? ''
const attributesOf = (response: { headers: globalThis.Headers }) =>
  setCookieOf(response).split('; ').slice(1).sort()

describe('a login with a cookie', () => {
  test('has the refresh token in a cookie of /api/auth that scripts and other sites can’t use, not in the body', async () => {
    const response = await login()
    expect(response.status).toBe(200)
    expect(Object.keys(response.json).sort()).toEqual(['accessToken', 'expiresAt', 'tokenType'])
    expect(cookieOf(response)).toMatch(/^parley_refresh=[\w-]{43}$/)
    expect(attributesOf(response)).toEqual([
      'HttpOnly',
      'Max-Age=2592000',
      'Path=/api/auth',
      'SameSite=Strict',
      'Secure',
    ])
  })

  test.each([
    ['http://127.0.0.1:8080', false],
    ['http://localhost:8080', false],
    ['http://acme.localhost:8080', false],
    ['http://[::1]:8080', false],
    ['https://127.0.0.1:8080', true],
    ['http://parley.example.com', true],
    ['http://localhost.example.com', true],
    ['http://127.0.0.1.example.com', true],
  ])('from a page of %s has a cookie that is Secure: %s', async (origin, secure) => {
    const response = await login({ origin, 'x-forwarded-host': new URL(origin).host })
    expect(response.status).toBe(200)
    expect(attributesOf(response).includes('Secure')).toBe(secure)
  })

  test.each<[string, Headers]>([
    ['another origin', { ...PAGE, origin: 'https://evil.example.com' }],
    ['another port', { ...PAGE, origin: `${PAGE.origin}:444` }],
    ['an opaque origin', { ...PAGE, origin: 'null' }],
    ['no page', { 'x-forwarded-host': HOST }],
  ])('is refused to %s', async (_from, headers) => {
    const { status, json, headers: got } = await login(headers)
    expect([status, json.code, got.getSetCookie()]).toEqual([403, 'forbidden', []])
  })

  test('is refused with a wrong password, without a cookie', async () => {
    user.password = 'wrong'
    const { status, headers } = await login()
    expect([status, headers.getSetCookie()]).toEqual([401, []])
  })
})

describe('a refresh by cookie', () => {
  test('has the next token in a cookie too, and an access token in the body', async () => {
    const first = cookieOf(await login())
    const response = await post('refresh', first)
    expect(response.status).toBe(200)
    expect(Object.keys(response.json).sort()).toEqual(['accessToken', 'expiresAt', 'tokenType'])
    expect(cookieOf(response)).toMatch(/^parley_refresh=[\w-]{43}$/)
    expect(cookieOf(response)).not.toBe(first)
    expect(attributesOf(response)).toContain('HttpOnly')
    expect((await post('refresh', `other=1; ${cookieOf(response)}; more=2`)).status).toBe(200)
  })

  test('is refused to another origin and to a request without one, and uses nothing up', async () => {
    const cookie = cookieOf(await login())
    for (const headers of [{ ...PAGE, origin: 'https://evil.example.com' }, { 'x-forwarded-host': HOST }]) {
      const { status, json } = await post('refresh', cookie, headers as Headers)
      expect([status, json.code]).toEqual([403, 'forbidden'])
    }
    expect((await post('refresh', cookie)).status).toBe(200)
  })

  test('with a token that has ended makes the browser forget it', async () => {
    const response = await post('refresh', 'parley_refresh=x')
    expect([response.status, response.json.code]).toEqual([401, 'invalid_refresh_token'])
    expect(setCookieOf(response)).toMatch(/^parley_refresh=; Path=\/api\/auth; Max-Age=0; HttpOnly/)
  })

  test('is not made when the body has a token, and needs one of the two', async () => {
    const cookie = cookieOf(await login())
    const inBody = await identity.call('POST', '/api/auth/refresh', {
      body: { refreshToken: 'x' },
      headers: { ...PAGE, cookie },
    })
    expect(inBody.status).toBe(401)
    expect((await post('refresh', 'other=1')).status).toBe(422)
    expect((await post('refresh', cookie)).status).toBe(200)
  })
})

describe('a logout by cookie', () => {
  test('ends the session and makes the browser forget the token', async () => {
    const cookie = cookieOf(await login())
    const response = await post('logout', cookie)
    expect([response.status, response.json]).toEqual([200, { loggedOut: true }])
    expect(setCookieOf(response)).toMatch(/^parley_refresh=; Path=\/api\/auth; Max-Age=0; HttpOnly/)
    expect((await post('refresh', cookie)).status).toBe(401)
  })

  test('is refused to another origin, and the session goes on', async () => {
    const cookie = cookieOf(await login())
    expect((await post('logout', cookie, { ...PAGE, origin: 'https://evil.example.com' })).status).toBe(403)
    expect((await post('refresh', cookie)).status).toBe(200)
  })
})

test.each(['login', 'refresh', 'logout'])(
  'a %s with a cookie is refused to another origin, as its operation says',
  async (name) => {
    const cookie = cookieOf(await login())
    const elsewhere = { ...PAGE, origin: 'https://evil.example.com' }
    const { status, json } = await (name === 'login' ? login(elsewhere) : post(name, cookie, elsewhere))
    expect([status, json.code]).toEqual([403, 'forbidden'])
    const described = document.paths[`/api/auth/${name}`]?.post?.responses ?? {}
    expect(described[status]).toEqual({ $ref: '#/components/responses/forbidden' })
  },
)
