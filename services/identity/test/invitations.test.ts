import { describe, expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'

const workspace = administeredWorkspace()
const { as, asAdmin } = workspace

describe('an invitation', () => {
  const invite = async (email: string, role = 'MEMBER') =>
    (await asAdmin('POST', '/rest/invitations', { email, role })).json
  const accept = (body: object) => workspace.identity.call('POST', '/api/auth/accept-invitation', { body })

  test('makes a user of the workspace, once', async () => {
    const { email, password } = newRegistration()
    const { token, _id } = await invite(email)
    const { data } = (await asAdmin('GET', '/rest/invitations')).json
    expect(data).toEqual([expect.objectContaining({ _id, email })])
    expect(JSON.stringify(data)).not.toContain(token)
    const joined = await accept({ token, name: 'Bea', password })
    expect(joined.status).toBe(200)
    expect(joined.json).toMatchObject({
      username: email,
      workspace: workspace.admin.workspace._id,
      role: workspace.admin.role + 1,
    })
    expect((await as(joined.json.accessToken)('POST', '/api/auth/me')).json.name).toBe('Bea')
    expect((await accept({ token, name: 'Bea', password })).json.code).toBe('invalid_invitation')
    expect((await asAdmin('GET', '/rest/invitations')).json.data).toEqual([])
  })

  test('makes one user of many who accept it at once', async () => {
    const { email, password } = newRegistration()
    const { token } = await invite(email)
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => accept({ token, name: 'x', password })),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status } of responses) expect([200, 401, 409]).toContain(status)
  })

  test('can be withdrawn, and is refused for a taken email', async () => {
    const { token, _id } = await invite(newRegistration().email)
    expect((await asAdmin('DELETE', `/rest/invitations/${_id}`)).status).toBe(200)
    expect((await accept({ token, name: 'x', password: 'x' })).status).toBe(401)
    expect((await invite(workspace.admin.account.username)).code).toBe('email_taken')
  })
})
