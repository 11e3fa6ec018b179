import { beforeEach, expect, test } from '@jest/globals'
import { campaignsForTests } from './campaigns-server.ts'

const server = campaignsForTests()
let numbers = 0

beforeEach(() => {
  server.others.areDown = false
  server.others.asked.splice(0)
})

async function somebody() {
  const address = `phone:49301000${1_000 + numbers++}`
  const { json } = await server.call('PUT', `/rest/people/${address}`, { body: { name: 'Ana' } })
  return { address, path: `/rest/people/${address}`, _id: json._id }
}
const historyOf = async (path: string) => (await server.call('GET', `${path}/consent`)).json.data

test('a change of consent is with the dispatcher before it is answered, and in the history with its text', async () => {
  const { path, address } = await somebody()
  const consent = { marketing: { status: 'withdrawn', text: 'by phone' } }
  const { status, json } = await server.call('PATCH', path, { body: { consent } })
  expect([status, json.consent.marketing]).toMatchObject([
    200,
    { status: 'withdrawn', source: 'api', text: 'by phone' },
  ])
  expect(server.others.asked).toMatchObject([
    {
      path: '/internal/workspaces/1/suppressions',
      body: { changes: [{ addresses: [address], purpose: 'marketing', status: 'withdrawn' }] },
    },
  ])
  await server.call('PATCH', path, { body: { consent: { marketing: { status: 'granted' } } } })
  expect(await historyOf(path)).toMatchObject([
    { status: 'granted' },
    { status: 'withdrawn', text: 'by phone' },
  ])
})

test('what was read can be sent back, and changes nothing', async () => {
  const { path } = await somebody()
  await server.call('PATCH', path, { body: { consent: { marketing: { status: 'withdrawn' } } } })
  server.others.asked.splice(0)
  const { json } = await server.call('GET', path)
  expect((await server.call('PATCH', path, { body: json })).json.consent).toEqual(json.consent)
  expect(server.others.asked).toEqual([])
  expect(await historyOf(path)).toHaveLength(1)
})

test('a change of consent is 503 while the dispatcher is unavailable, and nothing has changed', async () => {
  const { path } = await somebody()
  server.others.areDown = true
  const body = { name: 'Eva', consent: { marketing: { status: 'withdrawn' } } }
  expect((await server.call('PATCH', path, { body })).status).toBe(503)
  expect((await server.call('GET', path)).json).toMatchObject({
    ...{ name: 'Ana', consent: { marketing: { status: 'unknown' } } },
  })
  expect(await historyOf(path)).toEqual([])
  expect((await server.call('DELETE', path)).status).toBe(503)
  expect((await server.call('GET', path)).status).toBe(200)
})

test.each([
  { marketing: { status: 'unknown' } },
  { marketing: { status: 'maybe' } },
  { marketing: { status: 'granted', since: 1 } },
  { adverts: { status: 'granted' } },
  { marketing: null },
  'granted',
])('%j is no change of consent, and is refused', async (consent) => {
  const { path } = await somebody()
  await server.call('PATCH', path, { body: { consent: { marketing: { status: 'withdrawn' } } } })
  server.others.asked.splice(0)
  const { status, json } = await server.call('PATCH', path, { body: { consent } })
  expect([status, json.code]).toEqual([422, 'validation_failed'])
  expect(server.others.asked).toEqual([])
})

test('an address that is added to somebody who has opted out is suppressed before they have it', async () => {
  const { path, address } = await somebody()
  await server.call('PATCH', path, { body: { consent: { marketing: { status: 'withdrawn' } } } })
  server.others.asked.splice(0)
  const added = `phone:49302000${numbers}`
  expect((await server.call('PATCH', path, { body: { addresses: [address, added] } })).status).toBe(200)
  expect(server.others.asked).toMatchObject([
    { body: { changes: [{ addresses: [address, added], status: 'withdrawn' }] } },
  ])
})

test('somebody who is erased by several requests at once stays in a campaign as one, who is nobody', async () => {
  const { path, _id } = await somebody()
  const recipients = server.database.collection<{ _id: string; campaign: string; person: string }>(
    'recipients',
  )
  const campaigns = Array.from({ length: 40 }, (_, n) => `erased-${n}`)
  await recipients.insertMany(
    campaigns.map((campaign) => ({
      ...{ _id: `${campaign}/${_id}`, workspace: 1, campaign, person: _id, state: 'sent' },
      ...{ due: new Date(), updatedAt: new Date() },
    })),
  )
  const erased = await Promise.all(Array.from({ length: 6 }, () => server.call('DELETE', path)))
  for (const { status } of erased) expect([200, 404]).toContain(status)
  const left = await recipients.find({ campaign: { $in: campaigns } }).toArray()
  expect(left.map(({ campaign }) => campaign).toSorted()).toEqual(campaigns.toSorted())
  expect(left.filter(({ person }) => !person.startsWith('erased-'))).toEqual([])
})
