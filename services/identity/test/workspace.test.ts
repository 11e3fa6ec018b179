import { describe, expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin } = workspace

describe('the workspace', () => {
  test('is the caller’s own and no other', async () => {
    const stranger = await workspace.identity.register()
    const { json } = await asAdmin('GET', '/rest/workspaces')
    expect(json).toEqual({ data: [workspace.admin.workspace], next: null })
    const path = `/rest/workspaces/${workspace.admin.workspace._id}`
    expect((await asAdmin('GET', path)).json).toEqual(workspace.admin.workspace)
    const strange = `/rest/workspaces/${stranger.workspace._id}`
    expect((await asAdmin('GET', strange)).status).toBe(404)
    expect((await asAdmin('PATCH', strange, { name: 'Mine' })).status).toBe(404)
    const changed = await asAdmin('PATCH', path, { name: 'Acme Inc.' })
    expect(changed.json).toMatchObject({ name: 'Acme Inc.', host: workspace.admin.workspace.host })
    expect((await asAdmin('PATCH', path, { host: 'x' })).status).toBe(422)
    const viewer = await addUser('VIEWER')
    expect((await as(viewer.token)('PATCH', path, { name: 'x' })).status).toBe(403)
    expect((await as(viewer.token)('GET', path)).json.name).toBe('Acme Inc.')
  })
})

describe('the audit log', () => {
  test('holds who did what, the latest first, and no secrets', async () => {
    const user = await addUser('MEMBER')
    await asAdmin('PATCH', `/rest/users/${user._id}`, { role: 'VIEWER' })
    const { json: token } = await asAdmin('POST', '/api/auth/tokens', { name: 'Meta', role: 'PROVIDER' })
    await asAdmin('DELETE', `/api/auth/tokens/${token._id}`)
    const { text, json } = await asAdmin('GET', '/rest/audit')
    json.data = json.data.filter(({ action }: { action: string }) => action !== 'login')
    const acts = json.data.map((entry: Record<string, unknown>) => [
      entry.action,
      entry.resource,
      entry.document,
    ])
    expect(acts).toEqual([
      ['delete', 'tokens', token._id],
      ['create', 'tokens', token._id],
      ['update', 'users', user._id],
      ['create', 'users', user._id],
    ])
    expect(json.data[2]).toMatchObject({
      account: workspace.admin._id,
      details: { from: workspace.admin.role + 1, to: workspace.admin.role + 2 },
    })
    expect(text).not.toMatch(/parley_|\$2b\$/)
    expect(text).not.toContain(user.password)
    const stranger = await workspace.identity.register()
    expect((await as(stranger.accessToken)('GET', '/rest/audit')).json.data).toEqual([])
  })
})
