import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'

let parley: Parley
let shop: Workspace
const call = (method: string, path: string, body?: object) => shop.call(method, path, body) as Promise<Parsed>

beforeAll(async () => {
  parley = await startParley()
  shop = await registerWorkspace(parley.url, 'team-work')
  await call('PUT', '/rest/channels/1', {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'rpc', config: {} },
    handlerUrl: 'native:agents/nobody',
  })
})
afterAll(() => parley.close())

/** Somebody writes; resolves with the path of their conversation. */
async function conversationWith(extId: string): Promise<string> {
  const body = { extId: 'line', user: { phone: '551190' }, thread: { extId }, answer: {}, input: 'Hello' }
  await call('POST', '/api/hooks/whatsapp', body)
  const path = `/rest/threads/${extId}`
  await eventually(async () => (await shop.request('GET', path)).ok)
  return path
}

const listed = async (query: string) =>
  (await call('GET', `/rest/threads?${query}`)).data.map(({ extId }: Parsed) => extId).sort()

/** Calls as a user of the shop in a role. */
async function userIn(role: string) {
  const [email, password] = [`${crypto.randomUUID()}@example.com`, crypto.randomUUID()]
  const { _id } = await call('POST', '/rest/users', { name: 'Bruno', email, phone: '1', password, role })
  const login = await call('POST', '/api/auth/login', { username: email, password })
  const authorization = `Bearer ${login.accessToken}`
  return {
    _id: _id as number,
    async patch(path: string, body: object) {
      const response = await shop.request('PATCH', path, body, { authorization })
      return { status: response.status, json: (await response.json()) as Parsed }
    },
  }
}

describe('a conversation', () => {
  test('is assigned to a team, to somebody within it, and found by both', async () => {
    const [one, other] = [await conversationWith('one'), await conversationWith('other')]
    const bruno = await userIn('MEMBER')
    const { _id: sales } = await call('POST', '/rest/teams', { name: 'Sales', members: [bruno._id] })
    const { _id: support } = await call('POST', '/rest/teams', { name: 'Support' })
    const { json } = await bruno.patch(one, { team: sales })
    const team = { _id: sales, name: 'Sales', at: expect.any(String), by: bruno._id }
    expect(json.team).toEqual(team)
    // A team or user that has it already is not assigned it anew.
    expect((await call('PATCH', one, { team: sales, assignee: bruno._id })).team).toEqual(json.team)
    expect(await call('GET', one)).toMatchObject({ team, assignee: { _id: bruno._id } })
    await call('PATCH', other, { team: support })
    expect(await listed(`team=${sales}`)).toEqual(['one'])
    expect(await listed(`team=${sales},${support}`)).toEqual(['one', 'other'])
    expect(await listed(`team=${sales}&assignee=none`)).toEqual([])
    expect(await listed('team=0')).toEqual([])
    await call('PATCH', one, { assignee: null })
    expect(await listed(`team=${sales}&assignee=none`)).toEqual(['one'])
    expect(await call('PATCH', one, { team: null })).not.toHaveProperty('team')
    expect(await listed('team=none')).toEqual(['one'])
    for (const wrong of ['mine', '', '1,', `${'1,'.repeat(100)}1`])
      expect((await shop.request('GET', `/rest/threads?team=${wrong}`)).status).toBe(422)
  })

  test('is assigned to no team that the caller may not read, and nobody learns whether there is one', async () => {
    const path = await conversationWith('refused')
    const stranger = await registerWorkspace(parley.url, 'strangers')
    const { _id: foreign } = (await stranger.call('POST', '/rest/teams', { name: 'Foreign' })) as Parsed
    const { _id: own } = await call('POST', '/rest/teams', { name: 'Secret' })
    const schema = "{{resource}} == 'threads'"
    const [read, write] = ['{{account.workspace._id}}', '{{account.workspace._id}}']
    await call('POST', '/rest/roles', { name: 'AGENT', permissions: [{ schema, read, write }] })
    const [agent, member] = [await userIn('AGENT'), await userIn('MEMBER')]
    const refusals = await Promise.all([
      agent.patch(path, { team: own }),
      agent.patch(path, { team: 999_999 }),
      member.patch(path, { team: foreign }),
      member.patch(path, { team: 999_999 }),
    ])
    for (const { status, json } of refusals) {
      expect(status).toBe(422)
      expect(json.errors).toEqual([{ path: '/team', code: 'not_found', message: expect.any(String) }])
      expect(json.errors).toEqual(refusals[0]?.json.errors)
    }
    for (const team of ['1', -1, 1.5, [own]]) expect((await member.patch(path, { team })).status).toBe(422)
    expect(await call('GET', path)).not.toHaveProperty('team')
  })

  test('whose team is deleted still says so, is of nobody, and goes to others', async () => {
    const path = await conversationWith('left')
    const { _id } = await call('POST', '/rest/teams', { name: 'Night shift' })
    await call('PATCH', path, { team: _id })
    await call('DELETE', `/rest/teams/${_id}`)
    expect((await call('GET', path)).team).toMatchObject({ _id, name: 'Night shift' })
    expect(await listed(`team=${_id}`)).toEqual(['left'])
    expect(await listed('assignee=none')).toContain('left')
    expect((await shop.request('PATCH', await conversationWith('late'), { team: _id })).status).toBe(422)
    const { _id: day } = await call('POST', '/rest/teams', { name: 'Day shift' })
    expect((await call('PATCH', path, { team: day })).team).toMatchObject({ _id: day })
  })
})
