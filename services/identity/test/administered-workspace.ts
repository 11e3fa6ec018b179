import { beforeEach, expect } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { identityForTests, newRegistration } from './identity-server.ts'

/** One identity service for the tests of a file, and for each test a new workspace with its admin. */
export function administeredWorkspace() {
  const identity = identityForTests()
  let admin: Parsed
  beforeEach(async () => {
    admin = await identity.register()
  })

  const as = (token: string) => (method: string, path: string, body?: unknown) =>
    identity.callWith(token, method, path, body)
  const asAdmin = (method: string, path: string, body?: unknown) => as(admin.accessToken)(method, path, body)
  const login = async (email: string, password: string) =>
    (await identity.login({ email, password })).json.accessToken as string
  /** A further user of the admin's workspace, logged in. */
  const addUser = async (role: string | number) => {
    const { namespace: _none, ...fields } = newRegistration()
    const { status, json } = await asAdmin('POST', '/rest/users', { ...fields, role })
    expect(status).toBe(200)
    return { ...json, token: await login(fields.email, fields.password), password: fields.password }
  }
  return {
    identity,
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
