import { createServer } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import { respondToClientErrors } from '@parley/shared/http-server'
import { gatewayUnderTest, listen, startSystem, stop } from './gateway-system.ts'

const gateway = gatewayUnderTest({ backend: 'configuration' })

describe('every response has nosniff:', () => {
  test.each([
    ['GET', '/health/live', 200],
    ['GET', '/health/ready', 200],
    ['GET', '/docs', 200],
    ['GET', '/docs/swagger-ui.css', 200],
    ['GET', '/openapi.json', 200],
    ['GET', '/.well-known/jwks.json', 200],
    ['GET', '/rest/jobs', 200],
    ['GET', '/rest/nothing', 404],
    ['DELETE', '/api/auth/me', 405],
    ['GET', '/rest/%00', 400],
  ])('%s %s', async (method, path, status) => {
    const headers = { authorization: `Bearer ${gateway.token}` }
    const response = await fetch(gateway.system.url + path, { method, headers })
    await response.body?.cancel()
    expect([response.status, response.headers.get('x-content-type-options')]).toEqual([status, 'nosniff'])
    expect(response.headers.get('strict-transport-security')).toBeNull()
  })

  test('the response to bytes that are not HTTP', async () => {
    expect(await gateway.system.raw('nonsense\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 .*x-content-type-options: nosniff/is,
    )
  })
})

describe('a response has cache-control no-store', () => {
  const login = (password: string, username: string) =>
    gateway.system.call('POST', '/api/auth/login', { body: { username, password } })

  test('when it contains a secret: registration, login, refresh, tokens', async () => {
    const password = 'a password of some length'
    const username = 'no-store@example.com'
    const body = { name: 'N', email: username, phone: '1', password, namespace: 'n' }
    const registered = await gateway.system.call('POST', '/api/auth/register', { body })
    const token = registered.json.accessToken
    const loggedIn = await login(password, username)
    const responses = [
      registered,
      loggedIn,
      await login('wrong', username),
      await gateway.system.call('POST', '/api/auth/refresh', {
        body: { refreshToken: loggedIn.json.refreshToken },
      }),
      await gateway.system.call('POST', '/api/auth/tokens', {
        token,
        body: { name: 't', role: registered.json.role },
      }),
      await gateway.system.call('GET', '/api/auth/tokens', { token }),
    ]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 401, 200, 200, 200])
    for (const { headers } of responses) expect(headers.get('cache-control')).toBe('no-store')
  })

  test('unless its service sets another cache-control', async () => {
    const plain = await gateway.system.call('GET', '/rest/jobs', { token: gateway.token })
    expect(plain.headers.get('cache-control')).toBe('no-store')
    gateway.backend.respond = (_req, res) =>
      void res.writeHead(200, { 'cache-control': 'private, no-cache' }).end('{}')
    const said = await gateway.system.call('GET', '/rest/jobs', { token: gateway.token })
    expect(said.headers.get('cache-control')).toBe('private, no-cache')
  })
})

test('every response has strict-transport-security when TLS ends in front of the gateway', async () => {
  const system = await startSystem({ PUBLIC_URL: 'https://parley.example' })
  const server = createServer(system.app)
  respondToClientErrors(server)
  const url = await listen(server)
  try {
    for (const path of ['/docs', '/rest/nothing', '/rest/jobs', '/rest/%00']) {
      const { headers } = await fetch(url + path)
      expect(headers.get('strict-transport-security')).toBe('max-age=63072000')
    }
  } finally {
    await stop(server)
    await system.close()
  }
})
