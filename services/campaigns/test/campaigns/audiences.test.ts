import { afterAll, beforeAll, expect, test } from '@jest/globals'
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
  // What becomes of the segment afterwards changes nothing.
  await world.ask('campaigns', 'PUT', '/rest/segments/vips', { name: 'VIPs', filter: {} })
  await world.until(campaign, 'finished')
  const { audience: listed, difference } = await world.results(campaign)
  expect([listed, difference]).toEqual([estimate.audience, 0])
  const reached = (await line.sends()).map(({ to }) => `phone:${to}`)
  expect(vips.every((address) => reached.includes(address))).toBe(true)
  expect(people.filter(({ addresses }) => reached.includes(addresses[0] ?? ''))).toHaveLength(3)
})

test.each([
  ['a segment that is not there', { segment: 'nobody' }, 'schedule'],
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
  expect([status, json.errors[0].path]).toEqual([422, '/audience/segment'])
})
