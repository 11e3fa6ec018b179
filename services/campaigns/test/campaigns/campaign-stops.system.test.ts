import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { type CampaignWorld, type Line, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld

beforeAll(async () => {
  world = await startCampaignWorld()
}, START_MS)
afterAll(() => world.close(), START_MS)

/** Half a minute of that, though more than may be under way at once. */
const FEW = 30
/** At its rate: fewer than these may be under way or due at once. */
const FEW_MORE = 20
/** More than are written to before a wait gives up, so slowly is it sent. */
const MANY = 200

/** A running campaign of which some have arrived, and that is not over soon on any machine. */
async function running(count = MANY, definition: object = {}): Promise<{ line: Line; campaign: string }> {
  const line = await world.line()
  const people = await world.people(count)
  const audience = { people: people.map(({ _id }) => _id) }
  const campaign = await world.draft({
    channel: line.channel,
    audience,
    messagesPerSecond: 2,
    ...definition,
  })
  await world.act(campaign, 'schedule')
  await eventually(async () => (await line.sends()).length > 0)
  return { line, campaign }
}

/** Waits until nothing is under way, and says how many have arrived. */
const settled = (campaign: string, line: Line): Promise<number> =>
  eventually(async () => {
    const { states } = await world.results(campaign)
    if (states.posted + states.claimed > 0) return undefined
    return (await line.sends()).length
  })

/** Goes on fast; everybody gets it once, whatever happened meanwhile. */
async function everybodyOnce(campaign: string, line: Line, count: number): Promise<void> {
  await world.change(campaign, { messagesPerSecond: 60 })
  await world.act(campaign, 'resume')
  await world.until(campaign, 'finished')
  const { states, difference } = await eventually(async () => {
    const found = await world.results(campaign)
    return found.toCome === 0 ? found : undefined
  })
  expect([states.sent + states.delivered, difference]).toEqual([count, 0])
  const sends = await line.sends()
  expect(new Set(sends.map(({ to }) => to)).size).toBe(count)
  expect(sends).toHaveLength(count)
}

describe('a campaign', () => {
  test('that is paused sends nothing more, and goes on exactly there', async () => {
    const { line, campaign } = await running(FEW)
    await world.act(campaign, 'pause')
    const before = await settled(campaign, line)
    expect(before).toBeLessThan(FEW)
    expect(await world.read(campaign)).toMatchObject({ state: 'paused', paused: { reason: 'person' } })
    expect((await line.sends()).length).toBe(before)
    await everybodyOnce(campaign, line, FEW)
  })

  test('stops by itself when its template is paused, and whom that was refused for get theirs afterwards', async () => {
    const { line, campaign } = await running(FEW)
    await line.misbehave({ failures: [{ status: 400, code: 132015 }] })
    const found = await world.until(campaign, 'paused')
    expect(found.paused.reason).toBe('template_paused')
    await line.misbehave({})
    await everybodyOnce(campaign, line, FEW)
  })

  test('that goes on after its template was paused does not stop again for what was refused before', async () => {
    const { line, campaign } = await running(FEW)
    await line.misbehave({ failures: [{ status: 400, code: 132015 }] })
    await world.until(campaign, 'paused')
    await settled(campaign, line)
    // Long enough that messages which run again are looked at before they have ended.
    await line.misbehave({ stallMs: 4_000 })
    await everybodyOnce(campaign, line, FEW)
  })

  test.each([
    [
      'message_template_status_update',
      { event: 'DISABLED', message_template_name: 'welcome_offer', message_template_language: 'pt_BR' },
      'template_disabled',
    ],
    [
      'message_template_quality_update',
      {
        new_quality_score: 'RED',
        message_template_name: 'welcome_offer',
        message_template_language: 'pt_BR',
      },
      'quality_low',
    ],
    [
      'phone_number_quality_update',
      { display_phone_number: '1555', event: 'FLAGGED', current_limit: 'TIER_1K' },
      'quality_low',
    ],
    ['account_update', { event: 'ACCOUNT_RESTRICTION' }, 'account_restricted'],
  ])('stops by itself after %s with %j', async (field, value, reason) => {
    const { line, campaign } = await running()
    await line.notice(field, value)
    const before = (await line.sends()).length
    expect((await world.until(campaign, 'paused')).paused.reason).toBe(reason)
    // Messages that were in flight, and those due until the next check.
    expect((await settled(campaign, line)) - before).toBeLessThanOrEqual(FEW_MORE)
    await world.act(campaign, 'cancel')
  })

  test('on a number whose quality is low already sends nothing, and its estimate says so', async () => {
    const line = await world.line()
    await line.misbehave({ quality: 'RED' })
    const people = await world.people(FEW)
    const audience = { people: people.map(({ _id }) => _id) }
    const campaign = await world.draft({ channel: line.channel, audience })
    const { json } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/estimate`)
    expect(json.stop).toBe('quality_low')
    await world.act(campaign, 'schedule')
    expect((await world.until(campaign, 'paused')).paused.reason).toBe('quality_low')
    expect(await settled(campaign, line)).toBe(0)
    await world.act(campaign, 'cancel')
  })

  test('stops by itself when too many are refused', async () => {
    const { line, campaign } = await running(MANY, { stopAt: { share: 0.02, of: 100 } })
    await line.misbehave({ failures: [{ status: 400, code: 131026 }] })
    expect((await world.until(campaign, 'paused')).paused.reason).toBe('refusals')
    const { failedBy, difference } = await world.results(campaign)
    expect([failedBy[0].code, difference]).toEqual(['131026', 0])
    await world.act(campaign, 'cancel')
  })

  test('stops by itself when too many opt out after their message', async () => {
    const { campaign } = await running(MANY, { stopAt: { share: 0.02, of: 50 } })
    const recipients = world.parley.database('campaigns').collection('recipients')
    const written = await eventually(async () => {
      const found = await recipients
        .find({ campaign, claimedAt: { $exists: true } })
        .limit(5)
        .toArray()
      return found.length === 5 ? found : undefined
    })
    for (const { person } of written)
      await world.ask('campaigns', 'PATCH', `/rest/people/${person}`, {
        consent: { marketing: { status: 'withdrawn' } },
      })
    expect((await world.until(campaign, 'paused')).paused.reason).toBe('opt_outs')
    expect((await world.results(campaign)).optedOut).toBe(5)
    await world.act(campaign, 'cancel')
  })

  test('on a channel that is deleted stops by itself', async () => {
    const { line, campaign } = await running()
    await world.ask('configuration', 'DELETE', `/rest/channels/${line.channel}`)
    expect((await world.until(campaign, 'paused')).paused.reason).toBe('channel_missing')
    await world.act(campaign, 'cancel')
  })

  test('that is cancelled in the middle leaves out who was not written to, for good', async () => {
    const { line, campaign } = await running()
    await world.act(campaign, 'cancel')
    const before = await settled(campaign, line)
    const results = await eventually(async () => {
      const found = await world.results(campaign)
      return found.toCome === 0 ? found : undefined
    })
    expect(results).toMatchObject({ difference: 0, leftOutBy: [{ reason: 'cancelled' }] })
    expect(before + results.leftOut).toBe(results.audience)
    expect((await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/resume`)).json.code).toBe(
      'campaign_state',
    )
  })

  test('shares the limit of people with the other accounts of its portfolio, and goes on the next day', async () => {
    const lines = [await world.line('acme'), await world.line('acme')]
    const campaigns: string[] = []
    for (const line of lines) {
      const people = await world.people(40)
      const audience = { people: people.map(({ _id }) => _id) }
      campaigns.push(await world.draft({ channel: line.channel, audience }))
      await line.misbehave({ messagingLimit: 'TIER_50' })
      const path = `/rest/campaigns/${campaigns.at(-1)}/estimate`
      expect((await world.ask('campaigns', 'POST', path)).json.peopleADay).toBe(50)
    }
    const written = async () => (await Promise.all(lines.map((line) => line.sends()))).flat().length
    for (const campaign of campaigns) await world.act(campaign, 'schedule')
    await eventually(async () => {
      const found = await Promise.all(campaigns.map((campaign) => world.read(campaign)))
      return found.some(({ waiting }) => waiting?.for === 'people_limit') && (await written()) === 50
    })
    const limits = world.parley
      .database('campaigns')
      .collection<{ _id: string; hours: Record<string, number> }>('peopleLimits')
    const _id = `${world.caller.workspace._id}/acme`
    const { hours = {} } = (await limits.findOne({ _id })) ?? {}
    const dayBefore = Object.entries(hours).map(([hour, count]) => [Number(hour) - 26, count])
    await limits.updateOne({ _id }, { $set: { hours: Object.fromEntries(dayBefore) }, $inc: { revision: 1 } })
    for (const campaign of campaigns) await world.until(campaign, 'finished')
    await eventually(async () => (await written()) === 80)
  })

  test('waits for the next day where its account may write to no more people', async () => {
    const line = await world.line()
    const people = await world.people(60)
    const audience = { people: people.map(({ _id }) => _id) }
    const campaign = await world.draft({ channel: line.channel, audience })
    const estimate = () => world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/estimate`)
    expect((await estimate()).json).toMatchObject({ recipients: 60, isExact: true, peopleADay: 100_000 })
    await line.notice('business_capability_update', { max_daily_conversation_per_phone: 50 })
    await eventually(async () => (await estimate()).json.days === 2)
    await world.act(campaign, 'schedule')
    const waiting = await eventually(async () => {
      const found = await world.read(campaign)
      return found.waiting?.for === 'people_limit' ? found.waiting : undefined
    })
    expect(Date.parse(waiting.until)).toBeGreaterThan(Date.now() + 23 * 60 * 60_000)
    expect(await settled(campaign, line)).toBe(50)
    await world.act(campaign, 'cancel')
  })
})
