import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { newRegistration } from '../../services/identity/test/identity-server.ts'
import { type GatewaySystem, startSystem } from './gateway-system.ts'

let system: GatewaySystem

beforeAll(async () => {
  system = await startSystem()
}, 150_000)
afterAll(() => system.close())

const login = async (user: ReturnType<typeof newRegistration>) => {
  const body = { username: user.email, password: user.password }
  return (await system.call('POST', '/api/auth/login', { body })).json
}
const statusWith = async (token: string) => (await system.call('GET', '/rest/jobs', { token })).status
/** Milliseconds until the token is refused, counted from now. */
const untilRefused = async (token: string) => {
  const started = performance.now()
  await waitUntil(async () => (await statusWith(token)) === 401, { timeoutMs: 10_000, intervalMs: 20 })
  return performance.now() - started
}
const newUser = async () => {
  const user = newRegistration()
  await system.call('POST', '/api/auth/register', { body: user })
  return user
}

test('the end of a session revokes its access tokens within 2 s, and no others', async () => {
  const user = await newUser()
  const [one, other] = [await login(user), await login(user)]
  expect([await statusWith(one.accessToken), await statusWith(other.accessToken)]).toEqual([200, 200])
  const { status } = await system.call('POST', '/api/auth/logout', { token: one.accessToken })
  expect(status).toBe(200)
  expect(await untilRefused(one.accessToken)).toBeLessThan(2_000)
  expect(await statusWith(other.accessToken)).toBe(200)
})

test('logging out everywhere ends every session of the account within 2 s', async () => {
  const user = await newUser()
  const sessions = [await login(user), await login(user)]
  for (const { accessToken } of sessions) expect(await statusWith(accessToken)).toBe(200)
  const body = { everywhere: true }
  await system.call('POST', '/api/auth/logout', { token: sessions[0].accessToken, body })
  for (const { accessToken } of sessions) expect(await untilRefused(accessToken)).toBeLessThan(2_000)
})

test('logging out works with a refresh token alone, also together with an invalid access token', async () => {
  const user = await newUser()
  for (const token of [undefined, 'bad.token.here']) {
    const { accessToken, refreshToken } = await login(user)
    const options = { body: { refreshToken }, ...(token === undefined ? {} : { token }) }
    expect((await system.call('POST', '/api/auth/logout', options)).status).toBe(200)
    expect(await untilRefused(accessToken)).toBeLessThan(2_000)
  }
  expect((await system.call('POST', '/api/auth/logout', { token: 'bad.token.here' })).status).toBe(401)
})

test('a change while identity is unavailable takes effect once it is back', async () => {
  const user = await newUser()
  const { accessToken, refreshToken } = await login(user)
  expect(await statusWith(accessToken)).toBe(200)
  system.identity.unavailable = true
  expect(await statusWith(accessToken)).toBe(200)
  system.identity.unavailable = false
  await system.identity.call('POST', '/api/auth/logout', { body: { refreshToken } })
  expect(await untilRefused(accessToken)).toBeLessThan(2_000)
})

test('a refresh token works through the gateway', async () => {
  const { refreshToken } = await login(await newUser())
  const { status, json } = await system.call('POST', '/api/auth/refresh', { body: { refreshToken } })
  expect(status).toBe(200)
  expect(await statusWith(json.accessToken)).toBe(200)
})

test('an API token works as a bearer token, and stops within 2 s of being revoked', async () => {
  const { accessToken } = await system.register()
  const body = { name: 'Meta', role: 'PROVIDER' }
  const { json } = await system.call('POST', '/api/auth/tokens', { token: accessToken, body })
  const { status } = await system.call('POST', '/api/hooks/whatsapp', { token: json.token, body: {} })
  expect(status).toBe(200)
  const { backends } = system
  const seen = backends.webhook.verifier.verify(backends.webhook.requests.pop()?.headers.authorization)
  expect(seen.caller).toMatchObject({ role: { name: 'PROVIDER' }, token: json._id })
  await system.call('DELETE', `/api/auth/tokens/${json._id}`, { token: accessToken })
  expect(await untilRefused(json.token)).toBeLessThan(2_000)
  for (const token of [`${json.token}x`, json.token.slice(0, -1), 'parley_'])
    expect(await statusWith(token)).toBe(401)
})

test('a changed role, a new password and a removed user take effect within 2 s', async () => {
  const admin = await system.register()
  const asAdmin = (method: string, path: string, body?: unknown) =>
    system.call(method, path, { token: admin.accessToken, body })
  const { namespace: _none, ...fields } = newRegistration()
  const user = (await asAdmin('POST', '/rest/users', { ...fields, role: 'MEMBER' })).json
  const login = async () =>
    (
      await system.call('POST', '/api/auth/login', {
        body: { email: fields.email, password: fields.password },
      })
    ).json.accessToken as string
  const [token, other] = [await login(), await login()]
  const versionSeen = async () => {
    await statusWith(token)
    const { requests, verifier } = system.backends.configuration
    return verifier.verify(requests.at(-1)?.headers.authorization).caller?.role
  }
  expect(await versionSeen()).toMatchObject({ name: 'MEMBER', version: 1 })
  expect(await statusWith(other)).toBe(200)

  await asAdmin('PATCH', `/rest/roles/${user.role}`, { name: 'STAFF' })
  const takesEffect = async (check: () => Promise<boolean>) => {
    const started = performance.now()
    expect(await waitUntil(check, { timeoutMs: 10_000, intervalMs: 20 })).toBe(true)
    expect(performance.now() - started).toBeLessThan(2_000)
  }
  await takesEffect(async () => (await versionSeen())?.name === 'STAFF')
  expect(await versionSeen()).toMatchObject({ version: 2 })

  const body = { currentPassword: fields.password, newPassword: 'another' }
  await system.call('POST', '/api/auth/password', { token, body })
  expect(await untilRefused(other)).toBeLessThan(2_000)
  expect(await statusWith(token)).toBe(200)

  await asAdmin('DELETE', `/rest/users/${user._id}`)
  expect(await untilRefused(token)).toBeLessThan(2_000)
})
