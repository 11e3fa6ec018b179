import { randomUUIDv7 } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Connection } from 'mongoose'
import type { CampaignCondition, Condition, SegmentFilter } from '../src/segments/segment-filter.ts'
import { findPeoplePage, type PeoplePage } from '../src/segments/segment-people.ts'
import type { PersonRecord } from '../src/store/person-record.ts'
import { type RecipientRecord, recipientId } from '../src/store/recipient-record.ts'
import { campaignsForTests } from './campaigns-server.ts'
import { withSlowPeople } from './slow-people.ts'

const BRAZIL = [
  { schema: '{{resource}} == "people"', read: '{{doc.language}} == "pt_BR"', write: 'false' },
] as const
/** Reads people, and one of the campaigns. */
const ANALYST = [
  ...BRAZIL.map((one) => ({ ...one, read: 'true' })),
  { schema: '{{resource}} == "campaigns"', read: '{{doc.name}} == "spring"', write: 'false' },
] as const
const server = campaignsForTests({ roles: { BRAZIL, ANALYST } })

const DAY_MS = 24 * 60 * 60 * 1_000
const people = [
  {
    language: 'pt_BR',
    tags: ['vip', 'late'],
    attributes: { city: 'Santos', visits: 3 },
    consent: 'granted',
    days: 1,
  },
  { language: 'pt_PT', tags: ['vip'], attributes: { city: 'Porto' }, consent: 'withdrawn', days: 20 },
  { language: 'pt', tags: [], attributes: { visits: 10 }, days: undefined },
  { language: 'es', tags: ['late'], attributes: { city: 'Lima', visits: 0 }, consent: 'granted', days: 5 },
  { language: undefined, tags: [], attributes: {}, days: undefined },
] as const

const [SPRING, SUMMER, ELSEWHERE] = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()]
/** Which person is in which campaign, and how. */
const recipients: [campaign: string, person: number, more: Partial<RecipientRecord>][] = [
  ...[0, 1, 2].map((person): [string, number, object] => [SPRING, person, { state: 'read' }]),
  [SPRING, 3, { state: 'left_out' }],
  [SUMMER, 0, { state: 'delivered', repliedAt: new Date() }],
  [SUMMER, 4, { state: 'read' }],
]
const ids: string[] = []

beforeAll(async () => {
  const attributes = [
    { name: 'city', type: 'text' },
    { name: 'visits', type: 'number' },
  ]
  await server.call('PUT', '/rest/people/attributes', { body: { attributes } })
  for (const [at, { language, tags, attributes, ...others }] of people.entries()) {
    const body = { addresses: [`telegram:${at}`], language, tags, attributes }
    const { json } = await server.call('POST', '/rest/people', { body })
    ids.push(json._id)
    const { consent, days } = { consent: undefined, ...others }
    const said = { status: consent, at: new Date(), source: 'import' }
    const set = {
      ...(consent && { 'consent.marketing': said }),
      ...(days && { lastContactAt: new Date(Date.now() - days * DAY_MS) }),
    }
    if (Object.keys(set).length > 0)
      await server.database.collection('people').updateOne({ _id: json._id }, { $set: set })
  }
  await server.call('POST', '/rest/people', {
    body: { addresses: ['telegram:0'], tags: ['vip'] },
    workspace: 2,
  })
  const campaigns = [
    ...[SPRING, SUMMER].map((_id, at) => ({ _id, workspace: 1, name: ['spring', 'summer'][at] })),
    { _id: ELSEWHERE, workspace: 2, name: 'spring' },
  ]
  await server.database.collection<{ _id: string }>('campaigns').insertMany(campaigns)
  await server.database.collection<RecipientRecord>('recipients').insertMany(
    recipients.map(([campaign, at, more]) => {
      const [person, now] = [ids[at] ?? '', new Date()]
      const made = { _id: recipientId(campaign, person), workspace: 1, campaign, person }
      return { ...made, state: 'posted', due: now, updatedAt: now, ...more }
    }),
  )
})

const of = (id: string, state?: CampaignCondition['campaign']['state']): CampaignCondition => ({
  campaign: { id, ...(state && { state }) },
})

const count = async (filter: object, options = {}) => {
  const { status, json } = await server.call('POST', '/rest/segments/count', { body: { filter }, ...options })
  return status === 200 ? json.count : [status, json.errors?.map(({ path }: { path: string }) => path)]
}

/** Returns the people whom the filter finds, page by page. */
async function listed(filter: SegmentFilter, limit: number): Promise<string[]> {
  const found: string[] = []
  const connection = server.database as unknown as Connection
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: PeoplePage = await findPeoplePage(connection, { workspace: 1, filter }, { after, limit })
    found.push(...page.people.map(({ _id }) => _id))
    after = page.next
  }
  return found
}

describe('a filter counts', () => {
  test.each([
    [{}, 5],
    [{ all: [{ tag: 'vip' }] }, 2],
    [{ all: [{ language: 'pt' }] }, 3],
    [{ all: [{ language: 'pt-br' }] }, 1],
    [{ all: [{ consent: 'marketing', is: 'granted' }] }, 2],
    [{ all: [{ consent: 'marketing', is: 'unknown' }] }, 2],
    [{ all: [{ attribute: 'city', in: ['Santos', 'Lima'] }] }, 2],
    [{ all: [{ attribute: 'visits', from: 3 }] }, 2],
    [{ all: [{ attribute: 'visits', from: 0, below: 3 }] }, 1],
    [{ all: [{ attribute: 'city', exists: false }] }, 2],
    [{ all: [{ lastContact: 'never' }] }, 2],
    [{ all: [{ contactedInDays: 7 }] }, 2],
    [{ any: [{ tag: 'late' }, { language: 'pt' }], none: [{ tag: 'vip' }] }, 2],
    [{ none: [{ tag: 'vip' }, { tag: 'late' }] }, 2],
    [{ all: [of(SPRING)] }, 4],
    [{ all: [of(SPRING, 'read')] }, 3],
    [{ all: [of(SUMMER, 'replied')] }, 1],
    [{ all: [of(SPRING), of(SUMMER)] }, 1],
    [{ all: [of(SPRING, 'read'), { tag: 'vip' }], none: [of(SUMMER)] }, 1],
    [{ any: [of(SUMMER), { tag: 'late' }] }, 3],
    [{ none: [of(SPRING)] }, 1],
  ])('%j: %i', async (filter, expected) => {
    expect(await count(filter)).toBe(expected)
  })

  test('each person once, whatever is asked for: who meets a condition and who does not are all', async () => {
    const condition: fc.Arbitrary<Condition> = fc.oneof(
      fc.constantFrom('vip', 'late', 'none').map((tag) => ({ tag })),
      fc.constantFrom('pt', 'pt_BR', 'es').map((language) => ({ language })),
      fc.constantFrom('granted', 'withdrawn', 'unknown').map((is) => ({ consent: 'marketing' as const, is })),
      fc.integer({ min: -1, max: 12 }).map((from) => ({ attribute: 'visits', from })),
      fc.boolean().map((exists) => ({ attribute: 'city', exists })),
      fc.constantFrom(of(SPRING), of(SPRING, 'read'), of(SUMMER, 'replied'), of(SUMMER)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(condition, { minLength: 1, maxLength: 3 }), async (conditions) => {
        const [any, none] = [await count({ any: conditions }), await count({ none: conditions })]
        expect(any + none).toBe(5)
        for (const limit of [1, 2, 5]) {
          const all = await listed({ all: conditions }, limit)
          expect(all).toEqual([...new Set(all)])
          expect(all).toHaveLength(await count({ all: conditions }))
          expect(await listed({ any: conditions }, limit)).toHaveLength(any)
        }
      }),
      { numRuns: 25 },
    )
  })

  test('who turned out to be somebody else that a campaign had, once', async () => {
    const people = server.database.collection<PersonRecord>('people')
    const [first = '', second = '', third = ''] = ids
    const set = (joined: string[]) => people.updateOne({ _id: ids[4] ?? '' }, { $set: { joined } })
    const stored = await people.findOne({ _id: first })
    await set([randomUUIDv7(), first])
    await people.deleteOne({ _id: first })
    expect(await count({ all: [of(SPRING, 'read')] })).toBe(3)
    expect(await count({ none: [of(SPRING)] })).toBe(0)
    expect((await listed({ all: [of(SPRING, 'read')] }, 1)).toSorted()).toEqual(
      [second, third, ids[4]].toSorted(),
    )
    // In this one they were under both.
    expect(await count({ all: [of(SUMMER)] })).toBe(1)
    const fourth = await people.findOne({ _id: ids[3] ?? '' })
    await set([first, ids[3] ?? ''])
    await people.deleteOne({ _id: ids[3] ?? '' })
    // Two of those who were listed are this one now, in two parts of the list.
    expect((await listed({ all: [of(SPRING)] }, 1)).toSorted()).toEqual([second, third, ids[4]].toSorted())
    expect(await count({ all: [of(SPRING), { tag: 'vip' }] })).toBe(1)
    if (fourth !== null) await people.insertOne(fourth)
    await people.updateOne({ _id: ids[4] ?? '' }, { $unset: { joined: '' } })
    if (stored !== null) await people.insertOne(stored)
  })

  test('nobody who was erased, whichever way it is counted', async () => {
    const recipients = server.database.collection<RecipientRecord>('recipients')
    const stored = await recipients.findOne({ _id: recipientId(SPRING, ids[1] ?? '') })
    const nobody = `erased-${randomUUIDv7()}`
    const erased = { ...(stored as RecipientRecord), _id: recipientId(SPRING, nobody), person: nobody }
    await recipients.insertOne(erased)
    for (const filter of [[of(SPRING, 'read')], [of(SPRING, 'read'), of(SPRING)]])
      expect(await count({ all: filter })).toBe(3)
    await recipients.deleteOne({ _id: erased._id })
  })

  test('only people that the caller may read', async () => {
    expect(await count({ all: [{ tag: 'vip' }] }, { role: 'BRAZIL' })).toBe(1)
    expect(await count({}, { role: 'BRAZIL' })).toBe(1)
    expect(await count({ all: [{ tag: 'vip' }] }, { workspace: 2 })).toBe(1)
  })

  test('nothing where it names what is not there', async () => {
    expect(await count({ all: [{ tag: 'vip' }, { attribute: 'size', exists: true }] })).toEqual([
      422,
      ['/filter/all/1'],
    ])
    expect(await count({ any: [{ attribute: 'visits', from: 'many' }] })).toEqual([422, ['/filter/any/0']])
    expect(await count({ all: [{ language: 'Portuguese' }] })).toEqual([422, ['/filter/all/0/language']])
    for (const id of [randomUUIDv7(), ELSEWHERE])
      expect(await count({ none: [of(id)] })).toEqual([422, ['/filter/none/0']])
    expect(await count({ all: [of(SPRING)] }, { role: 'ANALYST' })).toBe(4)
    expect(await count({ all: [of(SUMMER)] }, { role: 'ANALYST' })).toEqual([422, ['/filter/all/0']])
    expect(await count({ all: [of(SPRING)] }, { role: 'BRAZIL' })).toEqual([422, ['/filter/all/0']])
    const many = Array.from({ length: 21 }, () => ({ tag: 'vip' }))
    expect(await count({ all: many })).toEqual([422, ['/filter/all']])
  })
})

test('a count that takes too long is 503, and the next one counts', async () => {
  const count = () =>
    server.call('POST', '/rest/segments/count', { body: { filter: { all: [{ tag: 'late' }] } } })
  await withSlowPeople(server.database, async () => {
    const { status, json } = await count()
    expect([status, json.code]).toEqual([503, 'unavailable'])
  })
  expect((await count()).json.count).toBe(2)
})

test('a segment is saved, read, listed, replaced and deleted, in its workspace alone', async () => {
  const body = { name: 'Brazil', filter: { all: [{ language: 'pt_BR' }] } }
  const saved = await server.call('PUT', '/rest/segments/brazil', { body })
  expect([saved.status, saved.json]).toEqual([200, expect.objectContaining({ _id: 'brazil', ...body })])
  expect((await server.call('GET', '/rest/segments/brazil')).json).toEqual(saved.json)
  const replaced = await server.call('PUT', '/rest/segments/brazil', { body: { ...body, name: 'BR' } })
  expect(replaced.json).toMatchObject({ name: 'BR', createdAt: saved.json.createdAt })
  expect((await server.call('GET', '/rest/segments')).json).toEqual({ data: [replaced.json], next: null })
  expect((await server.call('GET', '/rest/segments/brazil', { workspace: 2 })).status).toBe(404)
  expect((await server.call('PUT', '/rest/segments/count', { body })).status).toBe(405)
  expect((await server.call('PUT', '/rest/segments/a.b', { body })).json.code).toBe('invalid_id')
  expect((await server.call('DELETE', '/rest/segments/brazil')).json).toEqual({
    _id: 'brazil',
    deleted: true,
  })
  expect((await server.call('GET', '/rest/segments/brazil')).status).toBe(404)
})
