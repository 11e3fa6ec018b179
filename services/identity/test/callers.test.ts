import { beforeAll, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { identityForTests } from './identity-server.ts'

const identity = identityForTests()
let admin: Parsed
beforeAll(async () => {
  admin = await identity.register()
})

const callerOf = (query = '', issuer: 'dispatcher' | 'webhook' = 'dispatcher') =>
  identity.callAs(issuer, 'GET', `/internal/callers/${admin._id}${query}`)

test('the dispatcher learns of an account as a caller, in its role of the moment', async () => {
  const { status, json } = await callerOf()
  expect(status).toBe(200)
  expect(json).toMatchObject({
    account: { _id: admin._id },
    workspace: { _id: admin.workspace._id },
    role: { name: 'WORKSPACE_ADMIN' },
  })
  expect((await identity.callAs('dispatcher', 'GET', '/internal/callers/999999')).status).toBe(404)
  expect((await callerOf('', 'webhook')).status).toBe(403)
})

test('an API token is a caller in its own role, until it is revoked', async () => {
  const body = { name: 'x', role: 'VIEWER' }
  const { json: token } = await identity.callWith(admin.accessToken, 'POST', '/api/auth/tokens', body)
  const query = `?token=${token._id}`
  expect((await callerOf(query)).json).toMatchObject({ role: { name: 'VIEWER' }, token: token._id })
  await identity.callWith(admin.accessToken, 'DELETE', `/api/auth/tokens/${token._id}`)
  expect((await callerOf(query)).status).toBe(404)
})
