import { expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()

test('services read channels by their external id, lowest id first, with versions', async () => {
  for (const id of [9, 4, 6]) await server.call('PUT', `/rest/channels/${id}`, { body: bodies.channels })
  await server.call('PUT', '/rest/channels/4', { body: bodies.channels })
  await server.call('PUT', '/rest/channels/5', { body: { ...bodies.channels, extId: 'other' } })
  await server.call('PUT', '/rest/channels/1', { body: bodies.channels, workspace: 2 })
  await server.call('DELETE', '/rest/channels/6')
  const { json } = await server.callAs('dispatcher', '/internal/workspaces/1/channels?extId=support-line')
  expect(json.data).toEqual([
    expect.objectContaining({ _id: 4, version: 2, ...bodies.channels }),
    expect.objectContaining({ _id: 9, version: 1, ...bodies.channels }),
  ])
  const none = await server.callAs('webhook', '/internal/workspaces/3/channels?extId=support-line')
  expect(none.json).toEqual({ data: [] })
})

test('services read all channels of a workspace, page by page', async () => {
  const path = '/internal/workspaces/5/channels?limit=2'
  for (const id of [3, 1, 2]) {
    await server.call('PUT', `/rest/channels/${id}`, { body: bodies.channels, workspace: 5 })
  }
  const ids = ({ json }: { json: { data: { _id: number }[] } }) => json.data.map(({ _id }) => _id)
  const first = await server.callAs('webhook', path)
  expect([ids(first), first.json.next]).toEqual([[1, 2], 2])
  const second = await server.callAs('webhook', `${path}&after=${first.json.next}`)
  expect([ids(second), second.json.next]).toEqual([[3], null])
  for (const limit of ['0', '201', 'x', '-1', '1.5', '']) {
    const response = await server.callAs('webhook', `/internal/workspaces/5/channels?limit=${limit}`)
    expect([limit, response.status, response.json.errors[0].path]).toEqual([limit, 422, '/limit'])
  }
})

test('services read one document, by id or key', async () => {
  await server.call('PUT', '/rest/configs/the-key', { body: bodies.configs })
  const byKey = await server.callAs('dispatcher', '/internal/workspaces/1/configs/the-key')
  expect(byKey.json).toMatchObject({ _id: 1, key: 'the-key', version: 1, ...bodies.configs })
  expect((await server.callAs('dispatcher', '/internal/workspaces/1/configs/1')).json).toEqual(byKey.json)
  for (const path of [
    '2/configs/1',
    '1/configs/2',
    '1/configs/-1',
    '1/assistant/-1',
    '1/nothing/1',
    '1/__proto__/1',
  ]) {
    expect((await server.callAs('dispatcher', `/internal/workspaces/${path}`)).status).toBe(404)
  }
})

test('nobody else gets in, and no service without an account reaches /rest', async () => {
  const path = '/internal/workspaces/1/configs/1'
  expect((await server.callAs('identity', path)).status).toBe(403)
  expect((await server.call('GET', path)).status).toBe(403)
  expect((await fetch(server.url + path)).status).toBe(401)
  expect((await server.callAs('dispatcher', '/rest/configs/1')).status).toBe(401)
  expect((await server.callAs('gateway', '/rest/configs/1')).status).toBe(401)
  expect((await fetch(`${server.url}/rest/configs/1`)).status).toBe(401)
})
