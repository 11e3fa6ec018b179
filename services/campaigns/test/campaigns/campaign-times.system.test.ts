import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { isInHoldout } from '../../src/campaigns/rules/holdout.ts'
import type { PersonRecord } from '../../src/store/person-record.ts'
import type { RecipientRecord } from '../../src/store/recipient-record.ts'
import { type CampaignWorld, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld

beforeAll(async () => {
  world = await startCampaignWorld()
}, START_MS)
afterAll(() => world.close(), START_MS)

const HOUR_MS = 60 * 60_000
const idsOf = (people: readonly PersonRecord[]) => ({ people: people.map(({ _id }) => _id) })
/** The wall clock in UTC, to the minute. */
const clock = (ms: number) => new Date(ms).toISOString().slice(0, 16)
const recipients = () => world.parley.database('campaigns').collection<RecipientRecord>('recipients')
const dueBy = (campaign: string, person: PersonRecord | undefined, due: Date) =>
  recipients().updateOne({ campaign, person: person?._id ?? '' }, { $set: { due } })

/** The recipients by their person, once so many have been written to. */
async function onceSent(campaign: string, count: number): Promise<Map<string, RecipientRecord>> {
  await eventually(async () => (await world.results(campaign)).states.delivered === count)
  const found = await recipients().find({ campaign }).toArray()
  return new Map(found.map((one) => [one.person, one]))
}

describe('a campaign', () => {
  test('at a time where each person is writes to whose time has come, and waits for the others', async () => {
    const line = await world.line()
    const zones = ['UTC', 'America/Sao_Paulo', undefined]
    const people = await world.people(3, (index) => {
      const timeZone = zones[index]
      return timeZone === undefined ? {} : { timeZone }
    })
    const at = clock(Date.now() - HOUR_MS / 2)
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(people) },
      schedule: { at: `${at}:00`, timeZone: 'Asia/Tokyo', inEachTimeZone: true },
    })
    await world.act(campaign, 'schedule')
    const listed = await onceSent(campaign, 2)
    const [, later] = people
    const due = new Date(Date.parse(`${at}:00Z`) + 3 * HOUR_MS)
    expect(listed.get(later?._id ?? '')).toMatchObject({ state: 'waiting', due })
    await eventually(async () => {
      const { waiting } = await world.read(campaign)
      return waiting?.for === 'time' && Date.parse(waiting.until) === due.getTime()
    })
    await dueBy(campaign, later, new Date())
    await world.until(campaign, 'finished')
    expect((await line.sends()).length).toBe(3)
  })

  test('writes to nobody in their quiet hours, also where they begin just before the send', async () => {
    const line = await world.line()
    const zones = ['UTC', 'Asia/Karachi']
    const people = await world.people(2, (index) => ({ timeZone: zones[index] ?? '' }))
    const [quiet] = people
    const [from, to] = [clock(Date.now() - HOUR_MS), clock(Date.now() + HOUR_MS)]
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(people) },
      schedule: { quietHours: { from: from.slice(11), to: to.slice(11) } },
    })
    await world.act(campaign, 'schedule')
    const end = new Date(`${to}:00Z`)
    const listed = await onceSent(campaign, 1)
    expect(listed.get(quiet?._id ?? '')).toMatchObject({ state: 'waiting', due: end })
    await dueBy(campaign, quiet, new Date())
    await eventually(async () => {
      const one = await recipients().findOne({ campaign, person: quiet?._id ?? '' })
      return one?.state === 'waiting' && one.due.getTime() === end.getTime()
    })
    expect(await line.sends()).toHaveLength(1)
    await world.ask('campaigns', 'PATCH', `/rest/people/${quiet?._id}`, { timeZone: 'Asia/Karachi' })
    await dueBy(campaign, quiet, new Date())
    await world.until(campaign, 'finished')
    expect(await line.sends()).toHaveLength(2)
  })

  test('leaves its holdout out, who are the same whenever it is asked', async () => {
    const line = await world.line()
    const people = await world.people(40)
    const campaign = await world.draft({
      ...{ channel: line.channel, audience: idsOf(people), holdoutPercent: 50 },
    })
    const spared = people.filter(({ _id }) => isInHoldout(campaign, _id, 50))
    await world.act(campaign, 'schedule')
    await world.until(campaign, 'finished')
    const { leftOutBy, difference } = await world.results(campaign)
    expect([leftOutBy, difference]).toEqual([[{ reason: 'holdout', recipients: spared.length }], 0])
    const reached = (await line.sends()).map(({ to }) => `phone:${to}`)
    const others = people.filter((person) => !spared.includes(person)).flatMap(({ addresses }) => addresses)
    expect(reached.toSorted()).toEqual(others.toSorted())
  })
})
