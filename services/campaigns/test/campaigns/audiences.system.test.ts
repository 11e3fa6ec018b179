import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { withSlowPeople } from '../slow-people.ts'
import { type CampaignWorld, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld

beforeAll(async () => {
  world = await startCampaignWorld()
}, START_MS)
afterAll(() => world.close(), START_MS)

const toVips = { all: [{ tag: 'vip' }] }
const isVip = (index: number) => (index % 3 === 0 ? { tags: ['vip'] } : {})

test.each([
  ['a saved segment', { segment: 'vips' }],
  ['a filter of its own', { filter: toVips }],
])('%s is written to, and nobody else is', async (_name, audience) => {
  const line = await world.line()
  const people = await world.people(9, isVip)
  const vips = people.filter(({ tags }) => tags.includes('vip')).flatMap(({ addresses }) => addresses)
  await world.ask('campaigns', 'PUT', '/rest/segments/vips', { name: 'VIPs', filter: toVips })
  const campaign = await world.draft({ channel: line.channel, audience })
  const { json: estimate } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/estimate`)
  await world.act(campaign, 'schedule')
  // A later change of the segment has no effect.
  await world.ask('campaigns', 'PUT', '/rest/segments/vips', { name: 'VIPs', filter: {} })
  await world.until(campaign, 'finished')
  const { audience: listed, difference } = await world.results(campaign)
  expect([listed, difference]).toEqual([estimate.audience, 0])
  const reached = (await line.sends()).map(({ to }) => `phone:${to}`)
  const { json: recipients } = await world.ask('campaigns', 'GET', `/rest/campaigns/${campaign}/recipients`)
  expect((recipients.data as { addresses: string[] }[]).flatMap((one) => one.addresses)).toEqual(
    expect.arrayContaining(vips),
  )
  expect(vips.every((address) => reached.includes(address))).toBe(true)
  expect(people.filter(({ addresses }) => reached.includes(addresses[0] ?? ''))).toHaveLength(3)
})

test('whoever was in an import is written to, once that is over', async () => {
  const line = await world.line()
  const [first, second, other] = await world.people(3)
  const addresses = [first, second].flatMap((person) => person?.addresses ?? [])
  const send = async (query: string) => {
    const response = await fetch(`${world.parley.services.campaigns.url}/rest/people/imports${query}`, {
      method: 'POST',
      headers: {
        authorization: world.parley.authorization('gateway', 'campaigns', world.caller),
        ...{ 'content-type': 'text/csv', 'idempotency-key': 'audience' },
      },
      body: `phone\n${addresses.join('\n')}\n`,
    })
    return (await response.json()) as { _id: string; counts: object }
  }
  const { _id } = await send('?more=true')
  const campaign = await world.draft({ channel: line.channel, audience: { import: _id } })
  const early = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/schedule`)
  expect([early.status, early.json.errors[0].code]).toEqual([422, 'unfinished'])
  expect((await send('')).counts).toMatchObject({ rows: 2, updated: 2 })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  expect(await world.results(campaign)).toMatchObject({ audience: 2, difference: 0 })
  const reached = (await line.sends()).map(({ to }) => `phone:${to}`)
  expect(reached.toSorted()).toEqual(addresses.toSorted())
  expect(reached).not.toContain(other?.addresses[0])
})

test('whoever got an earlier campaign is written to by another one', async () => {
  const line = await world.line()
  const people = await world.people(4)
  const first = people.slice(0, 3).map(({ _id }) => _id)
  const earlier = await world.draft({ channel: line.channel, audience: { people: first } })
  await world.act(earlier, 'schedule')
  await world.until(earlier, 'finished')
  await eventually(async () => (await world.results(earlier)).states.delivered === 3)
  const filter = { all: [{ campaign: { id: earlier, state: 'delivered' } }] }
  const campaign = await world.draft({ channel: line.channel, audience: { filter } })
  const { json: estimate } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/estimate`)
  const { json: preview } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/preview`)
  expect([estimate.audience, estimate.recipients]).toEqual([3, 3])
  expect(preview.data.map(({ person }: { person: string }) => person).toSorted()).toEqual(first.toSorted())
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  expect(await world.results(campaign)).toMatchObject({ audience: 3, difference: 0 })
  const sends = (await line.sends()).map(({ to }) => `phone:${to}`)
  expect(sends.toSorted()).toEqual(
    [...first, ...first].map((id) => people.find(({ _id }) => _id === id)?.addresses[0]).toSorted(),
  )
})

test('a campaign whose audience is never found in time pauses, and goes on once it is', async () => {
  const line = await world.line()
  const people = await world.people(3)
  const audience = { people: people.map(({ _id }) => _id) }
  const campaign = await world.draft({ channel: line.channel, audience })
  await withSlowPeople(world.parley.database('campaigns'), async () => {
    await world.act(campaign, 'schedule')
    expect((await world.until(campaign, 'paused')).paused.reason).toBe('audience_slow')
  })
  await world.act(campaign, 'resume')
  await world.until(campaign, 'finished')
  expect(await line.sends()).toHaveLength(3)
})

test.each([
  ['a segment that is not there', { segment: 'nobody' }, 'schedule'],
  ['an import that is not there', { import: '0198c0de-7a00-7000-8000-3f6d5a4b2c11' }, 'schedule'],
  ['an attribute that is not declared', { filter: { all: [{ attribute: 'shoe', exists: true }] } }, 'draft'],
])('%s is refused', async (_name, audience, when) => {
  const line = await world.line()
  const body = {
    ...{ name: 'nobody', channel: line.channel, template: { name: 'welcome_offer', language: 'pt_BR' } },
    ...{ variables: [], audience },
  }
  const drafted = await world.ask('campaigns', 'POST', '/rest/campaigns', body)
  expect(drafted.status).toBe(when === 'draft' ? 422 : 200)
  if (when === 'draft') return
  const path = `/rest/campaigns/${drafted.json._id}/schedule`
  const { status, json } = await world.ask('campaigns', 'POST', path)
  expect([status, json.errors[0].path]).toEqual([422, `/audience/${Object.keys(audience)[0]}`])
})

const systemMessage = (wa_id: string) => ({
  ...{ type: 'system', system: { type: 'user_changed_number', body: 'Ana changed', wa_id } },
})
const numberOf = (address = '') => address.slice('phone:'.length)

test('two of an audience who turn out to be one get it once, at the number that they have now', async () => {
  const line = await world.line()
  const people = await world.people(2, () => ({ timeZone: 'America/Sao_Paulo' }))
  const [first, second] = people
  if (!first || !second) throw new Error('nobody')
  const campaign = await world.draft({
    ...{ channel: line.channel, audience: { people: people.map(({ _id }) => _id) } },
    schedule: { at: new Date().toISOString().slice(0, 19), timeZone: 'UTC', inEachTimeZone: true },
  })
  await world.act(campaign, 'schedule')
  await eventually(async () => (await world.results(campaign)).states.waiting === 2)
  await line.writes(first, systemMessage(numberOf(second.addresses[0])))
  await eventually(async () => {
    const [one, other] = await Promise.all(
      people.map(({ _id }) => world.ask('campaigns', 'GET', `/rest/people/${_id}`)),
    )
    return one?.json._id === other?.json._id
  })
  await world.parley
    .database('campaigns')
    .collection('recipients')
    .updateMany({ campaign }, { $set: { due: new Date() } })
  await world.until(campaign, 'finished')
  const results = await world.results(campaign)
  expect([results.leftOutBy, results.difference]).toEqual([[{ reason: 'joined', recipients: 1 }], 0])
  expect((await line.sends()).map(({ to }) => `phone:${to}`)).toEqual(second.addresses)
})

test('whoever has the number that somebody left has agreed to nothing, and who left it is written to at the new one', async () => {
  const line = await world.line()
  const [person, other] = await world.people(2)
  if (!person || !other) throw new Error('nobody')
  const [old] = person.addresses
  const now = `${numberOf(old)}9`
  const find = async (address = '') => (await world.ask('campaigns', 'GET', `/rest/people/${address}`)).json
  await line.writes(person, systemMessage(now))
  await eventually(async () => (await find(`phone:${now}`))._id === person._id)
  await line.writes(person, 'I am somebody else, with a SIM card of the operator’s')
  const stranger = await eventually(async () => {
    const found = await find(old)
    return found.lastContactAt === undefined ? undefined : found
  })
  expect([stranger._id === person._id, stranger.consent.marketing.status]).toEqual([false, 'unknown'])
  const filter = { all: [{ consent: 'marketing', is: 'granted' }] }
  const campaign = await world.draft({ channel: line.channel, audience: { filter } })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  const reached = (await line.sends()).filter(({ template }) => template !== undefined).map(({ to }) => to)
  expect([reached.includes(now), reached.includes(numberOf(old))]).toEqual([true, false])
})
