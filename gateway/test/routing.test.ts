import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createRouter, type Route, routes } from '../src/routes.ts'
import { systemForTests } from './gateway-system.ts'

const system = systemForTests()
let token: string

beforeAll(async () => {
  token = (await system.register()).accessToken
})
beforeEach(() => {
  for (const backend of Object.values(system.backends)) {
    backend.requests.length = 0
    backend.respond = undefined
  }
})

describe('a request reaches its service', () => {
  test.each([
    ['POST', '/api/hooks/whatsapp', 'webhook'],
    ['PUT', '/rest/channels/1', 'configuration'],
    ['PUT', '/rest/tasks/1', 'configuration'],
    ['PUT', '/rest/steps/1', 'configuration'],
    ['PUT', '/rest/assistant/1', 'configuration'],
    ['PUT', '/rest/configs/key', 'configuration'],
    ['POST', '/rest/actions', 'configuration'],
    ['POST', '/rest/jobs', 'configuration'],
    ['DELETE', '/rest/workflows/1', 'configuration'],
    ['GET', '/rest/check', 'configuration'],
    ['PATCH', '/rest/assistants/1', 'configuration'],
    ['GET', '/rest/messages', 'dispatcher'],
    ['POST', '/rest/messages', 'webhook'],
    ['POST', '/rest/messages/7/replay', 'dispatcher'],
  ] as const)('%s %s to %s', async (method, path, name) => {
    const backend = system.backends[name]
    const body = method === 'GET' || method === 'DELETE' ? undefined : { sent: true }
    const response = await system.call(method, path, { token, body })
    expect([response.status, response.json]).toEqual([200, { backend: name, url: path }])
    const [seen] = backend.requests
    expect(seen).toMatchObject({ method, url: path, body: body ? '{"sent":true}' : '' })
    const { issuer, caller } = backend.verifier.verify(seen?.headers.authorization)
    expect(issuer).toBe('gateway')
    expect(caller?.role).toMatchObject({ name: 'WORKSPACE_ADMIN', version: 1 })
    expect((await system.call(method, path)).status).toBe(401)
  })

  test('and identity returns the current user', async () => {
    const { status, json } = await system.call('POST', '/api/auth/me', { token })
    expect([status, json.role.name]).toEqual([200, 'WORKSPACE_ADMIN'])
  })

  test('and passes no Express app, which has only what the gateway answers itself', async () => {
    const passed: string[] = []
    const { router } = system.app
    router.use((req, _res, next) => {
      passed.push(req.path)
      next()
    })
    router.stack.unshift(...router.stack.splice(-1))
    for (const path of ['/rest/jobs', '/openapi.json', '/rest/nothing'])
      await system.call('GET', path, { token })
    router.stack.shift()
    expect(passed).toEqual(['/openapi.json', '/rest/nothing'])
  })

  test('with its query unchanged', async () => {
    const path = '/rest/channels?limit=2&name=a%20b&sort=-updatedAt&x=[1]'
    expect((await system.call('GET', path, { token })).json.url).toBe(path)
  })
})

describe('a public path', () => {
  test('needs no token, and its service gets none', async () => {
    const path = '/api/hooks/whatsapp/acme/line-1'
    for (const headers of [{}, { authorization: 'Bearer whatever' }] as Record<string, string>[]) {
      expect((await system.call('GET', `${path}?hub.mode=subscribe`, { headers })).status).toBe(200)
      expect((await system.call('POST', path, { headers, body: {} })).status).toBe(200)
    }
    for (const { headers } of system.backends.webhook.requests) expect(headers.authorization).toBeUndefined()
    expect(system.backends.webhook.requests).toHaveLength(4)
  })

  test('works with an invalid token', async () => {
    const { status, json } = await system.call('GET', '/.well-known/jwks.json', { token: 'bad.token.here' })
    expect([status, json.keys.length]).toEqual([200, 2])
  })
})

describe('a request outside the route table:', () => {
  test.each([
    '/rest/nothing-here',
    '/rest',
    '/',
    '/internal/introspect',
    '/api/auth/register/more',
    '/api/hooks/whatsapp/acme',
    '/api/hooks/whatsapp/acme/line/more',
    '/rest/channelsx',
    '/rest/channels/',
    '/rest/channels/1/',
    '/rest/events/',
    '/rest/threads/1/events/',
    '/rest/assistants/1/prompt/',
    '/rest/subscriptions/1/deliveries/',
    '/api/hooks/whatsapp/',
    '/api/hooks/whatsapp/acme/line/',
    '/REST/channels',
    '/metrics',
  ])('%s is 404', async (path) => {
    const { status, json, headers } = await system.call('GET', path, { token })
    expect([status, json.code]).toEqual([404, 'not_found'])
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(headers.get('x-request-id')).toBe(json.requestId)
  })

  test.each([
    ['GET', '/api/auth/register', 'POST'],
    ['PUT', '/api/auth/me', 'POST, PATCH'],
    ['GET', '/api/hooks/whatsapp', 'POST'],
    ['POST', '/.well-known/jwks.json', 'GET, HEAD'],
    ['OPTIONS', '/rest/channels/1', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  ])('%s %s is 405', async (method, path, allow) => {
    const { status, json, headers } = await system.call(method, path, { token })
    expect([status, json.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', allow])
  })
})

test('every route of the table is found by its own path', () => {
  const find = createRouter(routes)
  for (const route of routes) {
    const { match } = route
    expect(find(route.path + pathBelow(match), route.methods[0])).toBe(route)
  }
})

function pathBelow(match: Route['match']): string {
  if (typeof match !== 'object') return '/x'.repeat(Number(match) || 0)
  return 'child' in match ? `/${match.child}` : `/x/${match.ofEach}`
}

test('the gateway is ready when every service is, and degraded when one is not', async () => {
  const others = { webhook: 'up', configuration: 'up', dispatcher: 'up', campaigns: 'up' }
  const up = { authentication: 'up', identity: 'up', ...others }
  const ready = await system.call('GET', '/health/ready')
  expect([ready.status, ready.json]).toEqual([200, { status: 'ready', dependencies: up }])
  system.backends.dispatcher.respond = (_req, res) => void res.writeHead(503).end()
  const degraded = await system.call('GET', '/health/ready')
  expect([degraded.status, degraded.json]).toEqual([
    200,
    { status: 'degraded', dependencies: { ...up, dispatcher: 'down' } },
  ])
  expect((await system.call('GET', '/health/live')).status).toBe(200)
})

test('every path that a service has for sessions of one’s own leads to it', () => {
  const find = createRouter(routes)
  expect(find('/api/auth/sessions', 'GET')?.upstream).toBe('identity')
  expect(find('/api/auth/sessions/end', 'POST')?.upstream).toBe('identity')
})
