import { describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import { administeredWorkspace } from './administered-workspace.ts'

const workspace = administeredWorkspace()
const { identity, as, asAdmin, addUser } = workspace

const entries = async (query = '') => (await asAdmin('GET', `/rest/audit?${query}`)).json.data as Parsed[]
const reported = (change: object = {}) => ({
  ...{ workspace: workspace.admin.workspace._id, account: workspace.admin._id, name: 'Ana Souza' },
  ...{ address: '203.0.113.7', action: 'resolve', resource: 'threads', document: 7, requestId: 'r-1' },
  ...{ path: '/rest/threads/7/resolve', outcome: 'done', at: Date.now(), times: 1, ...change },
})
const report = (...acts: object[]) => identity.callAs('gateway', 'POST', '/internal/audit', { acts })

describe('the audit log', () => {
  test('says who, from where, and what changed, with what is free-form masked', async () => {
    const user = await addUser('MEMBER')
    const path = `/rest/users/${user._id}`
    await asAdmin('PATCH', path, { name: 'Bruno Lima', context: { key: 'secret-of-a-user' } })
    const [entry] = await entries('resource=users&action=update')
    expect(entry).toMatchObject({ name: 'Ana Souza', outcome: 'done', times: 1, document: user._id })
    expect(entry.address).not.toBe('')
    expect(entry.requestId).not.toBe('')
    expect(entry.changes).toEqual([
      { field: 'name', before: JSON.stringify(user.name), after: '"Bruno Lima"' },
      { field: 'context', before: '***', after: '***' },
    ])
    expect(JSON.stringify(await entries())).not.toContain('secret-of-a-user')
  })

  test('has logins and those that failed, repeats of a minute in one entry', async () => {
    const user = await addUser('VIEWER')
    for (let tries = 0; tries < 3; tries++)
      await identity.login({ email: user.username, password: 'not the password' })
    const refusals = () => entries(`action=login&outcome=refused&account=${user._id}`)
    const timesOf = (found: Parsed[]) => found.reduce((sum, { times }) => sum + times, 0)
    expect(await waitUntil(async () => timesOf(await refusals()) === 3, { timeoutMs: 10_000 })).toBe(true)
    expect((await refusals()).length).toBeLessThanOrEqual(2)
    const [login] = await entries(`action=login&outcome=done&account=${user._id}`)
    expect(login).toMatchObject({ name: user.name, document: user._id, path: '/api/auth/login' })
  })

  test('takes reports of the gateway alone, and counts repeats', async () => {
    const at = Date.now()
    expect((await report(reported({ at }), reported({ at, address: '203.0.113.8' }))).status).toBe(200)
    expect((await report(reported({ at, times: 4, requestId: 'r-2' }))).status).toBe(200)
    const found = await entries('resource=threads')
    expect(found.map(({ address, times }) => [address, times]).toSorted()).toEqual([
      ['203.0.113.7', 5],
      ['203.0.113.8', 1],
    ])
    const { status } = await identity.callAs('dispatcher', 'POST', '/internal/audit', { acts: [reported()] })
    expect(status).toBe(403)
  })

  test.each([
    ['account', () => `account=${workspace.admin._id}`, 2],
    ['action', () => 'action=resolve', 1],
    ['resource', () => 'resource=channels', 1],
    ['document', () => 'document=9', 1],
    ['outcome', () => 'outcome=refused', 1],
    ['time', () => `until=${new Date(Date.now() - 60_000).toISOString()}`, 1],
    ['later time', () => `since=${new Date(Date.now() + 60_000).toISOString()}`, 0],
  ])('is filtered by %s', async (_what, query, count) => {
    const refused = { action: 'delete', resource: 'channels', document: 9, outcome: 'refused' }
    await report(reported(), reported({ ...refused, at: Date.now() - 120_000 }))
    expect(await entries(`${query()}&limit=200`)).toHaveLength(count)
  })

  test.each(['outcome=maybe', 'since=yesterday', 'account=ana', 'workspace=1', `action=${'x'.repeat(200)}`])(
    'does not take %s',
    async (query) => {
      expect((await asAdmin('GET', `/rest/audit?${query}`)).status).toBe(422)
    },
  )

  test('is read by nobody whose role may not', async () => {
    const member = await addUser('MEMBER')
    expect((await as(member.token)('GET', '/rest/audit?account=1')).status).toBe(403)
  })

  test('shows entries of before it had these fields', async () => {
    const old = { _id: -1, workspace: workspace.admin.workspace._id, at: new Date(), account: 1 }
    const act = { action: 'create', resource: 'roles', document: 3, details: { name: 'X' } }
    await identity.database.collection<Parsed>('audit').insertOne({ ...old, ...act })
    expect(await entries('resource=roles&outcome=done')).toMatchObject([
      { outcome: 'done', times: 1, ...act },
    ])
  })

  test('expires by the setting, which a further start may change', async () => {
    const expiry = async () => {
      const indexes = await identity.database.collection('audit').indexes()
      return indexes.find(({ name }) => name === 'at_1')?.expireAfterSeconds
    }
    expect(await expiry()).toBe(365 * 86_400)
    const other = await identity.startInstance({ AUDIT_RETENTION_DAYS: '30' })
    expect(await waitUntil(async () => (await expiry()) === 30 * 86_400, { timeoutMs: 10_000 })).toBe(true)
    await other.close()
  })
})
