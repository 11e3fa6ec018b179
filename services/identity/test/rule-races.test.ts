import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { administeredWorkspace } from './administered-workspace.ts'
import { newRegistration } from './identity-server.ts'
import { pauseNextWrite, resumeWrites } from './pause-write.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin, identity } = workspace
const LOCKED = 'locked@example.com'

let editor: Parsed
beforeEach(async () => {
  const write = `{{doc.name}} != '${LOCKED}' && {{doc.email}} != '${LOCKED}'`
  const permissions = [{ schema: 'true', read: '{{account.workspace._id}}', write }]
  await asAdmin('POST', '/rest/roles', { name: 'EDITOR', permissions })
  await asAdmin('POST', '/rest/roles', { name: 'SPARE', permissions: [] })
  editor = await addUser('EDITOR')
})
afterEach(resumeWrites)

const made = async (path: string, body: object) => (await asAdmin('POST', path, body)).json._id as number
const user = async () => (await addUser('EDITOR'))._id as number
const spareRole = () => made('/rest/roles', { name: 'LATER', permissions: [] })

describe('a document that the rule takes out after it was read is neither changed nor deleted', () => {
  test.each([
    ['users', 'PATCH', '/rest/users', user, { accounts: 'name' }, { phone: '1' }],
    ['users', 'DELETE', '/rest/users', user, { accounts: 'name' }, undefined],
    [
      'invitations',
      'DELETE',
      '/rest/invitations',
      () => made('/rest/invitations', { email: newRegistration().email, role: 'SPARE' }),
      { invitations: 'email' },
      undefined,
    ],
    [
      'tokens',
      'DELETE',
      '/api/auth/tokens',
      () => made('/api/auth/tokens', { name: 'x', role: 'SPARE' }),
      { apiTokens: 'name' },
      undefined,
    ],
    ['roles', 'PATCH', '/rest/roles', spareRole, { roles: 'name' }, { permissions: [] }],
    ['roles', 'DELETE', '/rest/roles', spareRole, { roles: 'name' }, undefined],
    [
      'workspaces',
      'PATCH',
      '/rest/workspaces',
      async () => workspace.admin.workspace._id as number,
      { workspaces: 'name' },
      { context: { a: 1 } },
    ],
  ])('%s: %s', async (_resource, method, path, make, locked, body) => {
    const [collection = '', field = ''] = Object.entries(locked)[0] ?? []
    const _id = await make()
    const documents = identity.database.collection<{ _id: number }>(collection)
    const write = pauseNextWrite(method === 'PATCH' ? 'updateOne' : 'deleteOne', collection)
    const response = as(editor.token)(method, `${path}/${_id}`, body)
    await write.reached
    await documents.updateOne({ _id }, { $set: { [field]: LOCKED } })
    const before = await documents.findOne({ _id })
    write.release()
    const { status, json } = await response
    expect([status, json.code]).toEqual([412, 'precondition_failed'])
    expect(await documents.findOne({ _id })).toEqual(before)
  })
})
