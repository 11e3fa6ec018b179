import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals'
import { makeServiceKeys, type Parsed } from '@parley/local/testing/service-under-test'
import {
  dropIdentity,
  type IdentityServer,
  identityEnvironment,
  newRegistration,
  startIdentity,
  untilReady,
} from './identity-server.ts'

/** One identity service for the tests of a file, and for each test a new workspace with its admin. */
export function administeredWorkspace() {
  const keys = makeServiceKeys()
  let identity: IdentityServer
  let admin: Parsed
  beforeAll(async () => {
    identity = await startIdentity(keys, await identityEnvironment(keys))
    await untilReady(identity.url)
  }, 150_000)
  afterAll(() => dropIdentity(identity))
  beforeEach(async () => {
    admin = await identity.register()
  })

  const as = (token: string) => (method: string, path: string, body?: unknown) =>
    identity.callWith(token, method, path, body)
  const asAdmin = (method: string, path: string, body?: unknown) => as(admin.accessToken)(method, path, body)
  const login = async (email: string, password: string) => {
    const { json } = await identity.call('POST', '/api/auth/login', { body: { email, password } })
    return json.accessToken as string
  }
  /** A further user of the admin's workspace, logged in. */
  const addUser = async (role: string | number) => {
    const { namespace: _none, ...fields } = newRegistration()
    const { status, json } = await asAdmin('POST', '/rest/users', { ...fields, role })
    expect(status).toBe(200)
    return { ...json, token: await login(fields.email, fields.password), password: fields.password }
  }
  return {
    /** The service, once the tests run. */
    get identity() {
      return identity
    },
    /** The registration of the workspace's first user. */
    get admin() {
      return admin
    },
    as,
    asAdmin,
    login,
    addUser,
  }
}
