import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { claim } from '../../src/campaigns/run/send-batch.ts'
import type { PersonRecord } from '../../src/store/person-record.ts'
import type { RecipientRecord } from '../../src/store/recipient-record.ts'
import { type CampaignWorld, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld

beforeAll(async () => {
  world = await startCampaignWorld()
}, START_MS)
afterAll(() => world.close(), START_MS)

const idsOf = (people: readonly PersonRecord[]) => ({ people: people.map(({ _id }) => _id) })

/** The results once nobody is to come any more. */
const settled = (campaign: string) =>
  eventually(async () => {
    const found = await world.results(campaign)
    return found.toCome === 0 ? found : undefined
  })

describe('a campaign', () => {
  test('leaves out whoever got as many of other campaigns as its frequency cap allows', async () => {
    const line = await world.line()
    const people = await world.people(4)
    const first = await world.draft({ channel: line.channel, audience: idsOf(people.slice(0, 3)) })
    await world.act(first, 'schedule')
    await world.until(first, 'finished')
    const second = await world.draft({
      ...{ channel: line.channel, audience: idsOf(people) },
      frequencyCap: { messages: 1, days: 7 },
    })
    await world.act(second, 'schedule')
    await world.until(second, 'finished')
    const { leftOutBy, difference } = await settled(second)
    expect([leftOutBy, difference]).toEqual([[{ reason: 'frequency_cap', recipients: 3 }], 0])
    expect(await line.sends()).toHaveLength(4)
  })

  test('writes to nobody from the time on at which it ends', async () => {
    const line = await world.line()
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(await world.people(200)), messagesPerSecond: 2 },
      schedule: { endsAt: new Date(Date.now() + 3_000).toISOString() },
    })
    await world.act(campaign, 'schedule')
    await world.until(campaign, 'finished')
    const { leftOut, leftOutBy, audience, difference } = await settled(campaign)
    expect(leftOutBy).toEqual([{ reason: 'ended', recipients: leftOut }])
    expect([(await line.sends()).length + leftOut, difference]).toEqual([audience, 0])
    expect(leftOut).toBeGreaterThan(0)
  })

  test('that two start at once starts once', async () => {
    const line = await world.line()
    const campaign = await world.draft({ channel: line.channel, audience: idsOf(await world.people(5)) })
    const start = () => world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/schedule`)
    const responses = await Promise.all([start(), start(), start()])
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
    expect(responses.find(({ status }) => status === 409)?.json.code).toBe('campaign_state')
    await world.until(campaign, 'finished')
    await settled(campaign)
    expect(await line.sends()).toHaveLength(5)
  })

  test('waits where its budget is used up, and goes on once that is raised', async () => {
    const line = await world.line()
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(await world.people(6)), budget: { messages: 4 } },
    })
    await world.act(campaign, 'schedule')
    await eventually(async () => (await world.read(campaign)).waiting?.for === 'budget')
    await eventually(async () => (await line.sends()).length === 4)
    expect(await world.results(campaign)).toMatchObject({ leftOut: 0, difference: 0 })
    await world.change(campaign, { budget: { messages: 6 } })
    await world.until(campaign, 'finished')
    await settled(campaign)
    expect(await line.sends()).toHaveLength(6)
  })

  test('whose budget is used up when it ends leaves the others out for that', async () => {
    const line = await world.line()
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(await world.people(3)), budget: { messages: 1 } },
      schedule: { endsAt: new Date(Date.now() + 8_000).toISOString() },
    })
    await world.act(campaign, 'schedule')
    await world.until(campaign, 'finished')
    expect(await settled(campaign)).toMatchObject({
      leftOutBy: [{ reason: 'budget', recipients: 2 }],
      difference: 0,
    })
  })

  test('whose template comes to count as something else stops, and goes on at that price once it is agreed to', async () => {
    const line = await world.line()
    await world.ask('campaigns', 'POST', '/rest/templates/sync')
    const template = { name: 'order_update', language: 'pt_BR' }
    const perMessage = { utility: 0.01, marketing: 0.1 }
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(await world.people(40)), template },
      ...{ requiresConsent: false, messagesPerSecond: 1 },
      budget: { money: { amount: 3, perMessage, currency: 'USD' } },
    })
    const { json } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/estimate`)
    expect([json.recipients, json.cost]).toEqual([40, { amount: 0.4, currency: 'USD' }])
    await world.act(campaign, 'schedule')
    await eventually(async () => (await world.results(campaign)).states.delivered > 0)
    await line.template({ name: template.name, category: 'MARKETING' })
    expect((await world.until(campaign, 'paused')).paused.reason).toBe('category_changed')
    await world.change(campaign, { messagesPerSecond: 60 })
    await world.act(campaign, 'resume')
    await eventually(async () => (await world.read(campaign)).waiting?.for === 'budget')
    const { cost, categories } = await eventually(async () => {
      const found = await world.results(campaign)
      return found.states.delivered === 30 ? found : undefined
    })
    const counted = new Map<string, number>(
      categories.map((one: { category: string; recipients: number }) => [one.category, one.recipients]),
    )
    const [utility = 0, marketing = 0] = [counted.get('utility'), counted.get('marketing')]
    expect([utility > 0, marketing > 0, utility + marketing]).toEqual([true, true, 30])
    expect(cost).toEqual({ amount: Math.round(utility * 1 + marketing * 10) / 100, currency: 'USD' })
    await world.act(campaign, 'cancel')
  })

  test('that runs beside another one with the same cap writes to nobody twice', async () => {
    const lines = [await world.line(), await world.line()]
    const people = await world.people(60)
    const campaigns = await Promise.all(
      lines.map((line) =>
        world.draft({
          ...{ channel: line.channel, audience: idsOf(people) },
          frequencyCap: { messages: 1, days: 7 },
        }),
      ),
    )
    await Promise.all(campaigns.map((campaign) => world.act(campaign, 'schedule')))
    for (const campaign of campaigns) await world.until(campaign, 'finished')
    const results = await Promise.all(campaigns.map(settled))
    const sends = (await Promise.all(lines.map((line) => line.sends()))).flat()
    expect([sends.length, new Set(sends.map(({ to }) => to)).size]).toEqual([60, 60])
    expect(results.map(({ difference }) => difference)).toEqual([0, 0])
    expect(results.reduce((sum, { leftOut }) => sum + leftOut, 0)).toBe(60)
  })

  test('waits with whom another one is about to write to, until it is known what becomes of them', async () => {
    const line = await world.line()
    const people = await world.people(2)
    const recipients = world.parley.database('campaigns').collection<RecipientRecord>('recipients')
    const now = new Date()
    const { workspace } = world.caller
    await recipients.insertMany(
      people.map(({ _id: person }) => ({
        ...{ _id: `another/${person}`, campaign: 'another', workspace: workspace._id, person },
        ...{ state: 'claimed' as const, due: now, claimedAt: now, updatedAt: now },
      })),
    )
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(people), frequencyCap: { messages: 1, days: 7 } },
    })
    await world.act(campaign, 'schedule')
    await eventually(async () => {
      const later = await recipients.countDocuments({ campaign, state: 'waiting', due: { $gt: new Date() } })
      return later === 2
    })
    const become = (person: PersonRecord | undefined, state: RecipientRecord['state']) =>
      recipients.updateOne({ _id: `another/${person?._id}` }, { $set: { state } })
    await become(people[0], 'posted')
    await become(people[1], 'left_out')
    await world.until(campaign, 'finished')
    const { leftOutBy } = await settled(campaign)
    expect(leftOutBy).toEqual([{ reason: 'frequency_cap', recipients: 1 }])
    expect((await line.sends()).map(({ to }) => `phone:${to}`)).toEqual(people[1]?.addresses)
  })

  test('that runs is changed in its pace and not in what it sends', async () => {
    const line = await world.line()
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(await world.people(200)), messagesPerSecond: 2 },
    })
    await world.act(campaign, 'schedule')
    await world.until(campaign, 'running')
    const refused = await world.ask('campaigns', 'PATCH', `/rest/campaigns/${campaign}`, {
      template: { name: 'order_update', language: 'pt_BR' },
    })
    expect([refused.status, refused.json.code]).toEqual([409, 'campaign_state'])
    expect(await world.change(campaign, { messagesPerSecond: 60 })).toMatchObject({ messagesPerSecond: 60 })
    await world.act(campaign, 'cancel')
  })

  test('leaves out who is erased before their turn', async () => {
    const line = await world.line()
    const people = await world.people(60)
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(people), messagesPerSecond: 2 },
    })
    await world.act(campaign, 'schedule')
    await eventually(async () => (await world.read(campaign)).isListed === true)
    await world.act(campaign, 'pause')
    // The last of the audience, who is written to last.
    const last = people.at(-1)?._id
    const erased = await world.ask('campaigns', 'DELETE', `/rest/people/${last}`)
    expect(erased.status).toBe(200)
    await world.change(campaign, { messagesPerSecond: 60 })
    await world.act(campaign, 'resume')
    await world.until(campaign, 'finished')
    const { leftOut, audience, difference } = await settled(campaign)
    const sends = await line.sends()
    expect([sends.length + leftOut, difference]).toEqual([audience, 0])
    expect(sends.map(({ to }) => `phone:${to}`)).not.toContain(people.at(-1)?.addresses[0])
  })
})

test('of two that lead the same campaign at once, one claims each recipient', async () => {
  const collection = world.parley.database('campaigns').collection<RecipientRecord>('recipients')
  const now = new Date()
  const recipients = Array.from({ length: 200 }, (_, at): RecipientRecord => {
    const person = `person-${at}`
    return {
      ...{ _id: `nobodys/${person}`, campaign: 'nobodys', workspace: 1, person, state: 'waiting' },
      ...{ due: now, updatedAt: now },
    }
  })
  await collection.insertMany(recipients)
  const services = { collections: { recipients: collection } } as unknown as Parameters<typeof claim>[0]
  const claims = await Promise.all([1, 2, 3].map(() => claim(services, recipients, Date.now())))
  const ids = claims.flat().map(({ _id }) => _id)
  expect([ids.length, new Set(ids).size]).toEqual([200, 200])
})
