import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { type CampaignWorld, type Line, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld
let line: Line

beforeAll(async () => {
  world = await startCampaignWorld()
  line = await world.line()
  await world.ask('campaigns', 'POST', '/rest/templates/sync')
}, START_MS)
afterAll(() => world.close(), START_MS)

/** A draft to some people of what it says of its template. */
async function draft(definition: object, count = 2): Promise<string> {
  const people = await world.people(count)
  const audience = { people: people.map(({ _id }) => _id) }
  return world.draft({ channel: line.channel, audience, requiresConsent: false, ...definition })
}
const refusalOf = async (campaign: string) => {
  const { status, json } = await world.ask('campaigns', 'POST', `/rest/campaigns/${campaign}/schedule`)
  return [status, json.errors?.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`)]
}

const CODE = { template: { name: 'login_code', language: 'pt_BR' }, variables: [{ text: '123456' }] }
const BUTTON = {
  type: 'button',
  sub_type: 'url',
  index: '0',
  parameters: [{ type: 'text', text: '123456' }],
}
const INVOICE = { template: { name: 'invoice', language: 'pt_BR' }, variables: [{ attribute: 'name' }] }
const DOCUMENT = { document: { link: 'https://example.com/a.pdf', filename: 'a.pdf' } }
const NAMED = { name: 'invoice_named', language: 'pt_BR' }

describe('a template is sent with all that it takes:', () => {
  test.each([
    ['a button of an authentication code', { ...CODE, more: { components: [BUTTON] } }],
    ['a document in its header', { ...INVOICE, more: { header: DOCUMENT } }],
    ['parameters by name', { template: NAMED, variables: { customer_name: { attribute: 'name' } } }],
  ])('%s', async (_what, definition) => {
    const campaign = await draft(definition)
    await world.act(campaign, 'schedule')
    await world.until(campaign, 'finished')
    await eventually(async () => {
      const { states } = await world.results(campaign)
      return states.delivered === 2
    })
  })
})

describe('what nobody could be sent is refused when it is scheduled:', () => {
  test.each([
    ['a button that is missing', CODE, '/template template_mismatch'],
    ['a header that is missing', INVOICE, '/template template_mismatch'],
    [
      'a name that is missing',
      { template: NAMED, variables: [{ text: 'Ana' }] },
      '/template template_mismatch',
    ],
    [
      'what is not understood',
      { ...INVOICE, more: { header: DOCUMENT, footnote: 'x' } },
      '/more/footnote template_mismatch',
    ],
    [
      'a language that it has not',
      { ...INVOICE, template: { name: 'invoice', language: 'de' }, more: { header: DOCUMENT } },
      '/template template_language',
    ],
  ])('%s', async (_what, definition, error) => {
    expect(await refusalOf(await draft(definition))).toEqual([422, [error]])
  })
})

test('a campaign whose template takes other parameters by the time of its sending stops, and nobody is sent it', async () => {
  const component = (text: string, example: string[]) => [
    { type: 'BODY', text, example: { body_text: [example] } },
  ]
  const made = await world.ask('campaigns', 'POST', '/rest/templates', {
    ...{ channel: line.channel, name: 'spring', language: 'pt_BR', category: 'UTILITY' },
    components: component('Oi {{1}}, bom dia.', ['Ana']),
  })
  expect(made.status).toBe(200)
  const approve = async () => {
    await line.template({ name: 'spring', status: 'APPROVED' })
    expect((await world.ask('campaigns', 'POST', '/rest/templates/sync')).status).toBe(200)
    const { json } = await world.ask('campaigns', 'GET', `/rest/templates/${made.json._id}`)
    expect(json.status).toBe('APPROVED')
  }
  await approve()
  const before = (await line.sends()).length
  const campaign = await draft({
    ...{ template: { name: 'spring', language: 'pt_BR' }, variables: [{ attribute: 'name' }] },
    schedule: { at: new Date(Date.now() + 3_600_000).toISOString() },
  })
  await world.act(campaign, 'schedule')
  const changed = await world.ask('campaigns', 'PUT', `/rest/templates/${made.json._id}`, {
    components: component('Oi {{1}}, {{2}} bom dia.', ['Ana', 'um']),
  })
  expect(changed.status).toBe(200)
  await approve()
  // Its time comes.
  await world.parley
    .database('campaigns')
    .collection<{ _id: string }>('campaigns')
    .updateOne(
      { _id: campaign },
      { $set: { beginsAt: new Date(), 'definition.schedule': { timeZone: 'UTC' } } },
    )
  expect((await world.until(campaign, 'paused')).paused.reason).toBe('template_changed')
  expect((await line.sends()).length).toBe(before)
})
