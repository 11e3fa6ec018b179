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
