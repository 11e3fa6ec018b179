import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type CampaignWorld, START_MS, startCampaignWorld } from './campaign-world.ts'

const EVENTS = ['campaign.state_changed', 'person.consent_changed', 'template.status_changed']

let world: CampaignWorld
let receiver: Server
const events: Parsed[] = []

beforeAll(async () => {
  world = await startCampaignWorld({ proxies: { campaigns: ['rabbitmq'] } })
  receiver = createServer(async (req, res) => {
    events.push({ ...JSON.parse(await text(req)), id: req.headers['webhook-id'] })
    res.writeHead(200).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => receiver.once('listening', resolve))
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`
  const { status, text: refused } = await world.ask('configuration', 'PUT', '/rest/subscriptions/1', {
    ...{ name: 'all', url, events: EVENTS },
  })
  if (status !== 200) throw new Error(refused)
  await eventually(async () => {
    const tested = await world.ask('dispatcher', 'POST', '/rest/subscriptions/1/test')
    return tested.status === 200
  })
  // Whoever makes deliveries knows the subscription by then.
  await eventually(() => events.length > 0)
  events.splice(0)
}, START_MS)
afterAll(async () => {
  await world.close()
  receiver.closeAllConnections()
  await new Promise((resolve) => receiver.close(resolve))
}, START_MS)

const of = (id: string) => events.filter(({ data }) => data._id === id)
const statesOf = (id: string) => of(id).map(({ data }) => `${data.before} → ${data.state}`)

test('each state of a campaign is an event, in order, with who led to it and why it stopped', async () => {
  const line = await world.line()
  const people = await world.people(2)
  const campaign = await world.draft({
    ...{ channel: line.channel, audience: { people: people.map(({ _id }) => _id) } },
    schedule: { at: new Date(Date.now() + 3_600_000).toISOString() },
  })
  await world.act(campaign, 'schedule')
  await world.act(campaign, 'unschedule')
  await world.change(campaign, { schedule: {} })
  await world.act(campaign, 'schedule')
  await world.until(campaign, 'finished')
  const expected = [
    ...['null → draft', 'draft → scheduled', 'scheduled → draft', 'draft → scheduled'],
    ...['scheduled → running', 'running → finished'],
  ]
  await eventually(() => of(campaign).length >= expected.length)
  expect(statesOf(campaign)).toEqual(expected)
  const [first, , , , begun] = of(campaign)
  expect(first).toMatchObject({
    type: 'campaign.state_changed',
    data: { by: { username: 'ana@example.com' }, channel: line.channel, campaign: { _id: campaign } },
  })
  expect(begun?.data.by).toEqual({ _id: 0, username: 'runtime' })
  const { json } = await world.ask('campaigns', 'GET', `/rest/campaigns/${campaign}/history`)
  expect(json.data.map(({ version }: Parsed) => version)).toEqual([7, 6, 5, 4, 3, 2, 1])
})

test('a change of consent is an event with the person, whether it comes by the API or in a message', async () => {
  const line = await world.line()
  const [ana, eva] = await world.people(2)
  if (ana === undefined || eva === undefined) throw new Error('nobody')
  await world.ask('campaigns', 'PATCH', `/rest/people/${ana._id}`, {
    consent: { marketing: { status: 'withdrawn', text: 'by phone' } },
  })
  await line.writes(eva, 'STOP')
  await eventually(() => of(ana._id).length > 0 && of(eva._id).length > 0)
  expect(of(ana._id)).toMatchObject([
    {
      type: 'person.consent_changed',
      data: {
        ...{ purpose: 'marketing', status: 'withdrawn', source: 'api', text: 'by phone' },
        ...{ by: { username: 'ana@example.com' }, person: { addresses: ana.addresses } },
      },
    },
  ])
  expect(of(eva._id)).toMatchObject([{ data: { status: 'withdrawn', source: 'message' } }])
})

test('what a file says of consent is in its history, and no event', async () => {
  const [ana] = await world.people(1)
  if (ana === undefined) throw new Error('nobody')
  const imported = await fetch(`${world.parley.services.campaigns.url}/rest/people/imports`, {
    ...{ method: 'POST', body: `addresses,consent\n${ana.addresses[0]},withdrawn\n` },
    headers: {
      authorization: world.parley.authorization('gateway', 'campaigns', world.caller),
      'content-type': 'text/csv',
    },
  })
  expect(await imported.json()).toMatchObject({ counts: { updated: 1 } })
  await world.ask('campaigns', 'PATCH', `/rest/people/${ana._id}`, {
    consent: { service: { status: 'granted' } },
  })
  await eventually(() => of(ana._id).length > 0)
  expect(of(ana._id).map(({ data }) => data.source)).toEqual(['api'])
  const { json } = await world.ask('campaigns', 'GET', `/rest/people/${ana._id}/consent`)
  expect(json.data.map(({ status, source }: Parsed) => `${status} by ${source}`)).toEqual([
    ...['granted by api', 'withdrawn by import', 'granted by import'],
  ])
})

test('what its provider does to a template is an event, and in its history', async () => {
  const line = await world.line()
  expect((await world.ask('campaigns', 'POST', '/rest/templates/sync')).status).toBe(200)
  const { json } = await world.ask(
    ...(['campaigns', 'GET', `/rest/templates?name=welcome_offer&account=account-${line.channel}`] as const),
  )
  const [{ _id, language }] = json.data
  await line.notice('message_template_status_update', {
    ...{ event: 'PAUSED', message_template_id: _id, message_template_name: 'welcome_offer' },
    ...{ message_template_language: language, reason: 'NONE' },
  })
  const [event] = await eventually(() => (of(_id).length > 0 ? of(_id) : undefined))
  expect(event).toMatchObject({
    type: 'template.status_changed',
    data: { before: 'APPROVED', status: 'PAUSED', by: { username: 'runtime' } },
  })
  const history = await world.ask('campaigns', 'GET', `/rest/templates/${_id}/history`)
  expect(history.json.data[0]).toMatchObject({
    ...{ operation: 'updated', by: { username: 'runtime' } },
    changes: [{ path: '/status', before: 'APPROVED', after: 'PAUSED' }],
  })
})

test('what happens while RabbitMQ is unavailable and the instance ends is posted by the next one, once', async () => {
  const line = await world.line()
  world.parley.proxies.rabbitmq.cut()
  const [ana] = await world.people(1)
  const campaign = await world.draft({ channel: line.channel, audience: { everybody: true } })
  await world.ask('campaigns', 'PATCH', `/rest/people/${ana?._id}`, {
    consent: { service: { status: 'granted' } },
  })
  await world.parley.services.campaigns.close()
  world.parley.proxies.rabbitmq.mend()
  await world.parley.start('campaigns')
  await eventually(() => of(campaign).length > 0 && of(ana?._id ?? '').length > 0)
  const ids = events.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})
