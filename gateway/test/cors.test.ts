import { beforeAll, expect, test } from '@jest/globals'
import { systemForTests } from './gateway-system.ts'

const ORIGIN = 'https://console.example.com'
const system = systemForTests({ CORS_ORIGINS: `${ORIGIN}, http://localhost:3000` })
let token: string

beforeAll(async () => {
  token = (await system.register()).accessToken
})

const preflight = (origin: string, path = '/rest/channels/1') =>
  fetch(system.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization',
    },
  })

test('a preflight from a configured origin gets the methods of the route', async () => {
  const { status, headers } = await preflight(ORIGIN)
  expect(status).toBe(204)
  expect(Object.fromEntries(headers)).toMatchObject({
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': expect.stringContaining('authorization'),
    'access-control-max-age': '600',
    vary: 'Origin',
  })
  expect(headers.get('access-control-allow-credentials')).toBeNull()
  expect((await preflight(ORIGIN, '/api/auth/login')).headers.get('access-control-allow-methods')).toBe(
    'POST',
  )
})

test('another origin gets no CORS headers', async () => {
  for (const origin of [
    'https://evil.example',
    `${ORIGIN}.evil.example`,
    'null',
    'http://console.example.com',
  ]) {
    const { status, headers } = await preflight(origin)
    expect(status).toBe(405)
    expect(headers.get('access-control-allow-origin')).toBeNull()
  }
})

test('the configured origin may read responses and errors', async () => {
  const headers = { origin: ORIGIN }
  for (const [path, expected] of [
    ['/rest/jobs/1', 200],
    ['/rest/none', 404],
  ] as const) {
    const response = await system.call('GET', path, { token, headers })
    expect(response.status).toBe(expected)
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(response.headers.get('access-control-expose-headers')).toContain('x-request-id')
  }
  expect((await system.call('GET', '/rest/jobs/1', { headers })).status).toBe(401)
})
