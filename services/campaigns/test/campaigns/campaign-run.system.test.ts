import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import type { PersonRecord } from '../../src/store/person-record.ts'
import type { RecipientRecord } from '../../src/store/recipient-record.ts'
import { type CampaignWorld, START_MS, startCampaignWorld } from './campaign-world.ts'

const DAY_MS = 24 * 60 * 60_000

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

test('whoever opts out in the three days after their message counts, also once the campaign is over', async () => {
  const line = await world.line()
  const people = await world.people(5)
  const [writes, says, late, early] = people
  if (!writes || !says || !late || !early) throw new Error('nobody')
  const campaign = await world.draft({
    ...{ channel: line.channel, audience: { people: people.map(({ _id }) => _id) } },
    stopAt: { share: 1, of: 50 },
  })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  await eventually(async () => (await world.results(campaign)).states.delivered === 5)
  const recipients = world.parley.database('campaigns').collection<RecipientRecord>('recipients')
  const shift = (person: PersonRecord, ms: number) =>
    recipients.updateOne({ campaign, person: person._id }, { $set: { claimedAt: new Date(Date.now() + ms) } })
  // Of two days ago, of four, and not written to yet.
  await shift(writes, -2 * DAY_MS)
  await shift(late, -4 * DAY_MS)
  await shift(early, DAY_MS)
  const withdraw = (person: PersonRecord) =>
    world.ask('campaigns', 'PATCH', `/rest/people/${person._id}`, {
      consent: { marketing: { status: 'withdrawn' } },
    })
  for (const person of [says, late, early]) await withdraw(person)
  await line.writes(writes, 'STOP')
  const results = await eventually(async () => {
    const found = await world.results(campaign)
    return found.optedOut === 2 ? found : undefined
  })
  const byHour = results.hours.map(({ optedOut }: { optedOut: number }) => optedOut)
  expect(byHour.filter((count: number) => count > 0)).toEqual([1, 1])
  const { json } = await world.ask('campaigns', 'GET', `/rest/campaigns/${campaign}/recipients`)
  const named = (json.data as { person: string; optedOutAt?: string }[]).filter((one) => one.optedOutAt)
  expect(named.map(({ person }) => person).toSorted()).toEqual([writes._id, says._id].toSorted())
})

test('the counts of results are of one moment, also while people are listed and written to', async () => {
  const line = await world.line()
  const campaign = await world.draft({ channel: line.channel, audience: { everybody: true } })
  const recipients = world.parley.database('campaigns').collection<RecipientRecord>('recipients')
  const { workspace } = world.caller
  let isOver = false
  const change = async () => {
    for (let at = 0; !isOver; at++) {
      const [now, _id] = [new Date(), `${campaign}/${at}`]
      const listed = { _id, workspace: workspace._id, campaign, person: String(at), due: now, updatedAt: now }
      await recipients.insertOne({ ...listed, state: 'waiting' })
      await recipients.updateOne({ _id }, { $set: { state: 'delivered', claimedAt: now, optedOutAt: now } })
    }
  }
  const changing = change()
  const found: Parsed[] = []
  while (found.length < 100) found.push(await world.results(campaign))
  isOver = true
  await changing
  expect(found.at(-1)?.audience).toBeGreaterThan(found[0]?.audience)
  for (const { difference, optedOut, states, hours } of found) {
    const byHour = hours.reduce((sum: number, hour: { optedOut: number }) => sum + hour.optedOut, 0)
    expect({ difference, optedOut, byHour }).toEqual({
      ...{ difference: 0, optedOut: states.delivered, byHour: states.delivered },
    })
  }
})

test('everything of a person is exported in pages until there is no more', async () => {
  const line = await world.line()
  const [person] = await world.people(1)
  if (person === undefined) throw new Error('nobody')
  const { _id, workspace } = person
  const now = Date.now()
  const database = world.parley.database('campaigns')
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => at)
  await database.collection<{ _id: string }>('consents').insertMany(
    numbered(2_300).map((at) => ({
      ...{ _id: `consent-${at}`, workspace, person: _id, purpose: 'service', status: 'granted' },
      ...{ at: new Date(now - (at >> 1)), source: 'message' },
    })),
  )
  await database.collection<RecipientRecord>('recipients').insertMany(
    numbered(1_200).map((at) => ({
      ...{ _id: `campaign-${at}/${_id}`, campaign: `campaign-${at}`, workspace, person: _id },
      ...{ state: 'sent' as const, due: new Date(), updatedAt: new Date() },
    })),
  )
  await world.parley
    .database('dispatcher')
    .collection<{ _id: string }>('notices')
    .insertMany(
      numbered(150).map((at) => ({
        ...{ _id: `notice-${at}`, workspace, channelId: line.channel, channel: line.extId, field: 'x' },
        ...{ value: JSON.stringify({ wa_id: person.addresses[0]?.slice('phone:'.length) }) },
        ...{ receivedAt: new Date() },
      })),
    )
  const found: Record<string, Parsed[]> = { consentHistory: [], campaigns: [], notices: [], messages: [] }
  for (let query = '', pages = 0; pages < 10; pages++) {
    const { status, json } = await world.ask('campaigns', 'GET', `/rest/people/${_id}/export${query}`)
    expect([status, 'person' in json]).toEqual([200, pages === 0])
    for (const [name, list] of Object.entries(found)) list.push(...(json[name] ?? []))
    if (json.next === null) break
    query = `?after=${json.next}`
  }
  const { consentHistory, campaigns, notices } = found
  expect(new Set(consentHistory?.map((one) => one._id)).size).toBe(consentHistory?.length)
  // A consent from a file is the newest entry.
  expect([consentHistory?.length, campaigns?.length, notices?.length]).toEqual([2_301, 1_200, 150])
  const wrong = await world.ask('campaigns', 'GET', `/rest/people/${_id}/export?after=nothing`)
  expect(wrong.status).toBe(422)
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
