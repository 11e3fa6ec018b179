import { expect, test } from '@jest/globals'
import { campaignsForTests } from './campaigns-server.ts'

const BY_NAME = [
  { schema: '{{resource}} == "segments"', read: '{{doc.name}} != "Secret"', write: 'true' },
] as const
const server = campaignsForTests({ roles: { BY_NAME } })
let segments = 0

const segment = (name: string) => ({ name, filter: { all: [{ language: 'pt' }] } })
const newSegment = () => `/rest/segments/s${++segments}`

interface Entry {
  version: number
  operation: string
  by: { username: string }
  changes: { path: string; before?: unknown; after?: unknown }[]
}
async function historyOf(
  path: string,
  options: { role?: string; workspace?: number } = {},
): Promise<Entry[]> {
  const { status, json } = await server.call('GET', `${path}/history`, options)
  if (status !== 200) throw new Error(String(status))
  return json.data
}
const inShort = (entries: Entry[]) =>
  entries.map(({ version, operation, changes }) => [version, operation, ...changes.map(({ path }) => path)])

test('the history of a segment has every change with its account, also once it is deleted, and made again', async () => {
  const path = newSegment()
  await server.call('PUT', path, { body: segment('Brazil') })
  await server.call('PUT', path, { body: segment('Brazil') })
  await server.call('PUT', path, { body: segment('Portugal') })
  await server.call('DELETE', path)
  expect(inShort(await historyOf(path))).toEqual([
    [3, 'deleted', '/name', '/filter'],
    [2, 'updated', '/name'],
    [1, 'created', '/name', '/filter'],
  ])
  await server.call('PUT', path, { body: segment('Spain') })
  const [latest, , changed] = await historyOf(path)
  expect(latest).toMatchObject({ version: 4, operation: 'created', by: { username: 'ana@example.com' } })
  expect(changed?.changes).toEqual([{ path: '/name', before: 'Brazil', after: 'Portugal' }])
})

test('of a history others see what happened since the document that they may read was created, and another workspace nothing', async () => {
  const path = newSegment()
  await server.call('PUT', path, { body: segment('Secret') })
  await expect(historyOf(path, { role: 'BY_NAME' })).rejects.toThrow('404')
  await server.call('DELETE', path)
  await expect(historyOf(path, { role: 'BY_NAME' })).rejects.toThrow('404')
  await server.call('PUT', path, { body: segment('Open') })
  expect(inShort(await historyOf(path, { role: 'BY_NAME' }))).toEqual([[3, 'created', '/name', '/filter']])
  await expect(historyOf(path, { workspace: 2 })).rejects.toThrow('404')
  await expect(historyOf(newSegment())).rejects.toThrow('404')
})

test('a history comes in pages', async () => {
  const path = newSegment()
  for (let at = 1; at <= 55; at++) await server.call('PUT', path, { body: segment(`No. ${at}`) })
  const first = (await server.call('GET', `${path}/history`)).json
  expect([first.data.length, first.data[0].version, first.next]).toEqual([50, 55, '6'])
  const second = (await server.call('GET', `${path}/history?after=${first.next}`)).json
  expect(second.data.map(({ version }: Entry) => version)).toEqual([5, 4, 3, 2, 1])
  expect(second.next).toBeNull()
  expect((await server.call('GET', `${path}/history?after=x`)).status).toBe(422)
})

test('of several who save a segment at once each has a version of its own', async () => {
  const path = newSegment()
  const names = Array.from({ length: 8 }, (_, at) => `No. ${at}`)
  const saved = await Promise.all(names.map((name) => server.call('PUT', path, { body: segment(name) })))
  expect(saved.map(({ status }) => status)).toEqual(names.map(() => 200))
  const entries = await historyOf(path)
  expect(entries.map(({ version }) => version)).toEqual([8, 7, 6, 5, 4, 3, 2, 1])
  const [latest] = entries
  const { name } = (await server.call('GET', path)).json
  expect(latest?.changes.find((change) => change.path === '/name')?.after).toBe(name)
})

test('the history of a campaign has who drafted, changed and deleted it', async () => {
  const body = {
    ...{ name: 'Summer', channel: 1, template: { name: 'offer', language: 'pt' } },
    ...{ audience: { everybody: true }, variables: [{ text: '{{1}} $a.b __proto__' }] },
  }
  const { _id } = (await server.call('POST', '/rest/campaigns', { body })).json
  const path = `/rest/campaigns/${_id}`
  await server.call('PATCH', path, { body: { name: 'Winter', holdoutPercent: 5 } })
  await server.call('PATCH', path, { body: { name: 'Winter' } })
  await server.call('DELETE', path)
  const entries = await historyOf(path)
  expect(entries.map(({ version, operation }) => [version, operation])).toEqual([
    [3, 'deleted'],
    [2, 'updated'],
    [1, 'created'],
  ])
  expect(entries[1]?.changes).toEqual([
    { path: '/name', before: 'Summer', after: 'Winter' },
    { path: '/holdoutPercent', before: 0, after: 5 },
  ])
  expect(entries[2]?.changes).toContainEqual({ path: '/variables', after: body.variables })
  expect(entries.every(({ by }) => by.username === 'ana@example.com')).toBe(true)
  expect((await server.call('GET', `${path}x/history`)).json.code).toBe('invalid_id')
})

test('a change of consent by the API names its account', async () => {
  const path = '/rest/people/phone:4930100020001'
  await server.call('PUT', path, { body: { name: 'Ana' } })
  await server.call('PATCH', path, { body: { consent: { marketing: { status: 'granted' } } } })
  const { data } = (await server.call('GET', `${path}/consent`)).json
  expect(data).toMatchObject([{ status: 'granted', by: { _id: 11, username: 'ana@example.com' } }])
})
