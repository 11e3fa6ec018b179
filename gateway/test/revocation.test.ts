import { expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { defined } from '@parley/shared/defined'
import { newRegistration } from '../../services/identity/test/identity-server.ts'
import { systemForTests } from './gateway-system.ts'

const system = systemForTests()

const login = async ({ email, password }: { email: string; password: string }) =>
  (await system.call('POST', '/api/auth/login', { body: { email, password } })).json
const statusWith = async (token: string) => (await system.call('GET', '/rest/jobs', { token })).status
/** Much less than the minute after which the gateway asks again by itself. */
const SOON = { timeoutMs: 30_000, intervalMs: 20 }
const isRefusedSoon = (token: string) => waitUntil(async () => (await statusWith(token)) === 401, SOON)
const newUser = async () => {
  const user = newRegistration()
  await system.call('POST', '/api/auth/register', { body: user })
  return user
}

test('the end of a session revokes its access tokens soon, and no others', async () => {
  const user = await newUser()
  const [one, other] = [await login(user), await login(user)]
  expect([await statusWith(one.accessToken), await statusWith(other.accessToken)]).toEqual([200, 200])
  const { status } = await system.call('POST', '/api/auth/logout', { token: one.accessToken })
  expect(status).toBe(200)
  expect(await isRefusedSoon(one.accessToken)).toBe(true)
  expect(await statusWith(other.accessToken)).toBe(200)
})

test('logging out everywhere ends every session of the account soon', async () => {
  const user = await newUser()
  const sessions = [await login(user), await login(user)]
  for (const { accessToken } of sessions) expect(await statusWith(accessToken)).toBe(200)
  const body = { everywhere: true }
  await system.call('POST', '/api/auth/logout', { token: sessions[0].accessToken, body })
  for (const { accessToken } of sessions) expect(await isRefusedSoon(accessToken)).toBe(true)
})

test('logging out works with a refresh token alone, also together with an invalid access token', async () => {
  const user = await newUser()
  for (const token of [undefined, 'bad.token.here']) {
    const { accessToken, refreshToken } = await login(user)
    const options = { body: { refreshToken }, ...defined({ token }) }
    expect((await system.call('POST', '/api/auth/logout', options)).status).toBe(200)
    expect(await isRefusedSoon(accessToken)).toBe(true)
  }
  expect((await system.call('POST', '/api/auth/logout', { token: 'bad.token.here' })).status).toBe(401)
})

test('a session that ends while the gateway can not reach identity is refused once it can again', async () => {
  const user = await newUser()
  const { accessToken, refreshToken } = await login(user)
  expect(await statusWith(accessToken)).toBe(200)
  const other = await system.identity.startInstance()
  system.identity.service.unavailable = true
  const { status } = await other.call('POST', '/api/auth/logout', { body: { refreshToken } })
  await other.close()
  expect([status, await statusWith(accessToken)]).toEqual([200, 200])
  system.identity.service.unavailable = false
  expect(await isRefusedSoon(accessToken)).toBe(true)
})

test('a refresh token works through the gateway', async () => {
  const { refreshToken } = await login(await newUser())
  const { status, json } = await system.call('POST', '/api/auth/refresh', { body: { refreshToken } })
  expect(status).toBe(200)
  expect(await statusWith(json.accessToken)).toBe(200)
})

test('an API token works as a bearer token, and stops soon after it is revoked', async () => {
  const { accessToken } = await system.register()
  const body = { name: 'Meta', role: 'PROVIDER' }
  const { json } = await system.call('POST', '/api/auth/tokens', { token: accessToken, body })
  const { status } = await system.call('POST', '/api/hooks/whatsapp', { token: json.token, body: {} })
  expect(status).toBe(200)
  const { backends } = system
  const seen = backends.webhook.verifier.verify(backends.webhook.requests.pop()?.headers.authorization)
  expect(seen.caller).toMatchObject({ role: { name: 'PROVIDER' }, token: json._id })
  await system.call('DELETE', `/api/auth/tokens/${json._id}`, { token: accessToken })
  expect(await isRefusedSoon(json.token)).toBe(true)
  for (const token of [`${json.token}x`, json.token.slice(0, -1), 'parley_'])
    expect(await statusWith(token)).toBe(401)
})

test('a changed role, a new password and a removed user take effect soon', async () => {
  const admin = await system.register()
  const asAdmin = (method: string, path: string, body?: unknown) =>
    system.call(method, path, { token: admin.accessToken, body })
  const { namespace: _none, ...fields } = newRegistration()
  const user = (await asAdmin('POST', '/rest/users', { ...fields, role: 'MEMBER' })).json
  const [token, other] = [(await login(fields)).accessToken, (await login(fields)).accessToken]
  const versionSeen = async () => {
    await statusWith(token)
    const { requests, verifier } = system.backends.configuration
    return verifier.verify(requests.at(-1)?.headers.authorization).caller?.role
  }
  expect(await versionSeen()).toMatchObject({ name: 'MEMBER', version: 1 })
  expect(await statusWith(other)).toBe(200)

  await asAdmin('PATCH', `/rest/roles/${user.role}`, { name: 'STAFF' })
  expect(await waitUntil(async () => (await versionSeen())?.name === 'STAFF', SOON)).toBe(true)
  expect(await versionSeen()).toMatchObject({ version: 2 })

  const body = { currentPassword: fields.password, newPassword: 'another' }
  await system.call('POST', '/api/auth/password', { token, body })
  expect(await isRefusedSoon(other)).toBe(true)
  expect(await statusWith(token)).toBe(200)

  await asAdmin('DELETE', `/rest/users/${user._id}`)
  expect(await isRefusedSoon(token)).toBe(true)
})
