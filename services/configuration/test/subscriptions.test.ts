import { expect, test } from '@jest/globals'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests()
const body = { name: 'Warehouse', url: 'https://warehouse.example.com/parley', events: ['message.sent'] }
const ADDRESS = '/rest/subscriptions'

async function created(fields: object = {}): Promise<Record<string, unknown> & { _id: number }> {
  const response = await server.call('POST', ADDRESS, { body: { ...body, ...fields } })
  expect(response.status).toBe(200)
  return response.json as Record<string, unknown> & { _id: number }
}

test('a subscription is made active, with a signing secret of its own', async () => {
  const [one, other] = [await created(), await created()]
  expect(one).toMatchObject({ ...body, active: true, account: 11 })
  expect(one.signingSecret).toMatch(/^whsec_[\w+/]{43}=$/)
  expect(other.signingSecret).not.toBe(one.signingSecret)
})

test('only who may write a subscription reads its secret, and it is sealed in the database', async () => {
  const { _id, signingSecret } = await created()
  const path = `${ADDRESS}/${_id}`
  expect((await server.call('GET', path)).json).toMatchObject({ signingSecret })
  expect((await server.call('GET', path, { role: 'VIEWER' })).json).toMatchObject({ signingSecret: '••••' })
  const stored = await server.database.collection('subscriptions').findOne({ '_id.id': _id })
  expect(JSON.stringify(stored)).not.toContain(String(signingSecret).slice(6))
  expect(stored?.doc.signingSecret).toMatch(/^sealed:/)
})

test('a replacement without a secret leaves the secret as it is, and null makes another', async () => {
  const { _id, signingSecret } = await created()
  const path = `${ADDRESS}/${_id}`
  const put = async (fields: object) =>
    (await server.call('PUT', path, { body: { ...body, ...fields } })).json as Record<string, unknown>
  expect((await put({})).signingSecret).toBe(signingSecret)
  expect((await put({ signingSecret: '••••' })).signingSecret).toBe(signingSecret)
  const renewed = (await put({ signingSecret: null })).signingSecret
  expect(renewed).toMatch(/^whsec_/)
  expect(renewed).not.toBe(signingSecret)
  const own = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  expect((await put({ signingSecret: own })).signingSecret).toBe(own)
})

test.each([
  [{ events: ['message.lost'] }, '/events/0'],
  [{ events: ['configuration.assistants.updated'] }, '/events/0'],
  [{ events: [] }, '/events'],
  [{ url: 'native:agents/echo' }, '/url'],
  [{ url: 'ftp://example.com/' }, '/url'],
  [{ signingSecret: 'whsec_c2hvcnQ=' }, '/signingSecret'],
  [{ signingSecret: 'a text of more than twenty-four bytes' }, '/signingSecret'],
])('%j is refused', async (fields, path) => {
  const { status, json } = await server.call('POST', ADDRESS, { body: { ...body, ...fields } })
  expect(status).toBe(422)
  expect((json as { errors: { path: string }[] }).errors[0]?.path).toBe(path)
})

test('every event of every resource can be subscribed to, resources named as in the paths', async () => {
  const events = [
    'configuration.assistant.updated',
    'configuration.subscriptions.deleted',
    'task.step_completed',
  ]
  expect((await created({ events })).events).toEqual(events)
})

test('a workspace has at most 100 subscriptions', async () => {
  const workspace = 77
  const post = () => server.call('POST', ADDRESS, { body, workspace })
  for (let at = 0; at < 100; at++) expect((await post()).status).toBe(200)
  const refused = await post()
  expect(refused.status).toBe(422)
  expect(refused.json).toMatchObject({ errors: [{ code: 'too_many' }] })
  expect((await server.call('DELETE', `${ADDRESS}/1`, { workspace })).status).toBe(200)
  expect((await post()).status).toBe(200)
})

test('what is read can be sent back, and the account in it is that of whoever sends it', async () => {
  const read = await created()
  const response = await server.call('PUT', `${ADDRESS}/${read._id}`, { body: { ...read, account: 999 } })
  expect(response.json).toMatchObject({ account: 11, signingSecret: read.signingSecret })
})

test('a subscription moves by export and import, and importing twice changes nothing', async () => {
  await created()
  const exported = (await server.call('GET', '/rest/export?secrets=true')).json as { resources: object }
  const again = await server.call('POST', '/rest/import?dryRun=true', { body: exported })
  expect(again.json).toMatchObject({ summary: { create: 0, update: 0 } })
  expect((await server.call('POST', '/rest/import', { body: exported, workspace: 5 })).status).toBe(200)
  const { data } = (await server.call('GET', ADDRESS, { workspace: 5 })).json as {
    data: { account: number }[]
  }
  expect(new Set(data.map(({ account }) => account))).toEqual(new Set([15]))
})

test('a subscription that fails is marked, found by the check, and unmarked when it works again', async () => {
  const { _id } = await created()
  const mark = (body: object) =>
    server.callAs('dispatcher', `/internal/workspaces/1/subscriptions/${_id}/mark`, { method: 'POST', body })
  const failing = {
    state: 'failing',
    since: '2026-11-20T11:36:37.235Z',
    reason: 'The endpoint answered 500.',
  }
  expect((await mark(failing)).json).toEqual({ marked: true })
  expect((await mark(failing)).json).toEqual({ marked: false })
  expect((await server.call('GET', `${ADDRESS}/${_id}`)).json).toMatchObject({
    failing: { since: failing.since, reason: failing.reason },
  })
  const { data } = (await server.call('GET', '/rest/check')).json as { data: object[] }
  expect(data).toContainEqual(expect.objectContaining({ code: 'failing_subscription', _id }))
  expect((await mark({ state: 'working' })).json).toEqual({ marked: true })
  expect((await server.call('GET', `${ADDRESS}/${_id}`)).json).not.toHaveProperty('failing')
})

test('a subscription for which too many events wait is marked, and a replacement of it retains the mark', async () => {
  const { _id } = await created()
  const mark = (sent: object) =>
    server.callAs('dispatcher', `/internal/workspaces/1/subscriptions/${_id}/mark`, {
      method: 'POST',
      body: sent,
    })
  const full = { since: '2026-11-20T11:36:37.235Z', reason: '1,000,000 events wait for it.' }
  expect((await mark({ state: 'full', ...full })).json).toEqual({ marked: true })
  expect((await mark({ state: 'full', ...full })).json).toEqual({ marked: false })
  expect((await server.call('PUT', `${ADDRESS}/${_id}`, { body })).json).toMatchObject({ full })
  const { data } = (await server.call('GET', '/rest/check')).json as { data: object[] }
  expect(data).toContainEqual(expect.objectContaining({ code: 'full_subscription', _id }))
  expect((await mark({ state: 'not_full' })).json).toEqual({ marked: true })
  expect((await server.call('GET', `${ADDRESS}/${_id}`)).json).not.toHaveProperty('full')
})

test('a subscription that was turned off says so until somebody turns it on', async () => {
  const { _id } = await created()
  const path = `${ADDRESS}/${_id}`
  await server.callAs('dispatcher', `/internal/workspaces/1/subscriptions/${_id}/mark`, {
    method: 'POST',
    body: { state: 'disabled', at: '2026-11-20T11:36:37.235Z', reason: 'Nothing arrived for five days.' },
  })
  expect((await server.call('GET', path)).json).toMatchObject({
    active: false,
    disabled: { at: expect.anything() },
  })
  const { data } = (await server.call('GET', '/rest/check')).json as { data: object[] }
  expect(data).toContainEqual(expect.objectContaining({ code: 'disabled_subscription', _id }))
  const history = await eventually(
    async () => (await server.call('GET', `${path}/history`)).json.data as { by: object }[],
    (entries) => entries.length === 2,
  )
  expect(history[0]?.by).toMatchObject({ username: 'runtime' })
  const on = await server.call('PATCH', path, { body: { active: true } })
  expect(on.json).toMatchObject({ active: true })
  expect(on.json).not.toHaveProperty('disabled')
})

test('a channel that is not there is found by the check', async () => {
  const { _id } = await created({ channel: 4_711 })
  const { data } = (await server.call('GET', '/rest/check')).json as { data: object[] }
  expect(data).toContainEqual(
    expect.objectContaining({ code: 'dangling_reference', resource: 'subscriptions', _id, path: '/channel' }),
  )
})
