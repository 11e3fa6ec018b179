import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { PersonRecord } from '../../src/store/person-record.ts'
import type { RecipientRecord } from '../../src/store/recipient-record.ts'
import { type CampaignWorld, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld

beforeAll(async () => {
  world = await startCampaignWorld()
}, START_MS)
afterAll(() => world.close(), START_MS)

test('a campaign is sent once to everybody who agreed, and everybody else is left out with a reason', async () => {
  const line = await world.line()
  const people = await world.people(30, (index) => {
    if (index === 0) return { consent: {} }
    if (index === 1)
      return { consent: { marketing: { status: 'withdrawn', at: new Date(), source: 'message' } } }
    if (index === 2) return { addresses: ['telegram:4711'] }
    return {}
  })
  const campaign = await world.draft({
    channel: line.channel,
    audience: { people: people.map(({ _id }) => _id) },
  })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  const results = await eventually(async () => {
    const found = await world.results(campaign)
    return found.states.delivered === 27 ? found : undefined
  })
  expect(results).toMatchObject({ audience: 30, leftOut: 3, toCome: 0, difference: 0 })
  expect(results.leftOutBy.map(({ reason }: { reason: string }) => reason).sort()).toEqual([
    'no_address',
    'no_consent',
    'opted_out',
  ])
  const sends = await line.sends()
  expect(new Set(sends.map(({ to }) => to)).size).toBe(27)
  expect(sends).toHaveLength(27)
  expect(sends[0]).toMatchObject({
    template: 'welcome_offer',
    variables: [expect.stringMatching(/^Ana /), '20%'],
  })
})

test('a preview shows the template as each person would see it', async () => {
  const line = await world.line()
  const people = await world.people(2, (index) => ({ name: ['Ana', 'João'][index] ?? '' }))
  const audience = { people: people.map(({ _id }) => _id) }
  const campaign = await world.draft({ channel: line.channel, audience })
  const preview = async () => {
    const { json } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/preview`)
    return json.data.toSorted((one: { name: string }, other: { name: string }) =>
      one.name < other.name ? -1 : 1,
    )
  }
  expect(await preview()).toMatchObject([{ name: 'Ana', variables: ['Ana', '20%'] }, { name: 'João' }])
  await world.ask('campaigns', 'POST', '/rest/templates/sync')
  expect(await preview()).toMatchObject(
    ['Ana', 'João'].map((name) => ({ shown: { body: expect.stringContaining(name), fits: true } })),
  )
})

test('whoever replies is counted, and their thread knows its campaign', async () => {
  const line = await world.line()
  const [person, ...others] = await world.people(3)
  const audience = { people: [person, ...others].map((one) => one?._id) }
  const campaign = await world.draft({ channel: line.channel, audience })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  await eventually(async () => (await world.results(campaign)).states.delivered === 3)
  if (person === undefined) throw new Error('nobody')
  await line.writes(person, 'Quero')
  await eventually(async () => (await world.results(campaign)).replied === 1)
  const ofPerson = (id: string) => world.ask('campaigns', 'GET', `/rest/people/${id}/campaigns`)
  const [address = ''] = person.addresses
  for (const id of [person._id, address]) {
    const { data } = (await ofPerson(id)).json
    expect(data).toMatchObject([{ _id: campaign, name: expect.any(String), repliedAt: expect.any(String) }])
    expect(data[0]).not.toHaveProperty('person')
  }
  expect((await ofPerson('phone:4915100000000')).status).toBe(404)
  const { json } = await world.ask('dispatcher', 'GET', `/rest/threads?channel=${line.extId}`)
  expect(json.data.every((thread: { campaign?: { _id: string } }) => thread.campaign?._id === campaign)).toBe(
    true,
  )
})

test('who was posted to just before an instance died is no one who was left out, whatever they decided since', async () => {
  const line = await world.line()
  const people = await world.people(2)
  const campaign = await world.draft({
    channel: line.channel,
    audience: { people: people.map(({ _id }) => _id) },
  })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  await eventually(async () => (await world.results(campaign)).states.delivered === 2)
  const database = world.parley.database('campaigns')
  const [posted] = people
  if (posted === undefined) throw new Error('nobody')
  const consent = { marketing: { status: 'withdrawn' as const, at: new Date(), source: 'message' as const } }
  await database.collection<PersonRecord>('people').updateOne({ _id: posted._id }, { $set: { consent } })
  await database
    .collection<RecipientRecord>('recipients')
    .updateOne(
      { campaign, person: posted._id },
      { $set: { state: 'claimed', claim: 'of-the-dead' }, $unset: { postedAt: '', checkAt: '', checks: '' } },
    )
  await eventually(async () => (await world.results(campaign)).states.delivered === 1)
  await eventually(async () => (await world.results(campaign)).states.delivered === 2)
  expect(await world.results(campaign)).toMatchObject({ audience: 2, leftOut: 0, toCome: 0, difference: 0 })
  expect(await line.sends()).toHaveLength(2)
})
