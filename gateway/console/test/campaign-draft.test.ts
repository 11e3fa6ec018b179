import { expect, test } from '@jest/globals'
import { providerNamed } from '@parley/shared/providers/registry'
import { bodyOf, draftOf, emptyDraft, withoutNulls } from '../src/campaign-draft.ts'
import type { Campaign } from '../src/campaigns.ts'
import type { Template, TemplateProvider } from '../src/template-accounts.ts'

const provider = providerNamed('whatsapp') as TemplateProvider
const templateOf = (...components: Template['components']): Template => ({
  ...{
    _id: '4711',
    account: 'a',
    name: 'offer',
    language: 'pt_BR',
    status: 'APPROVED',
    category: 'MARKETING',
  },
  ...{ components, syncedAt: '2026-11-02T12:00:00.000Z', updatedAt: '2026-11-02T12:00:00.000Z' },
})
const POSITIONS = templateOf(
  { type: 'HEADER', format: 'IMAGE' },
  { type: 'BODY', text: 'Hi {{1}}, {{2}} off.' },
)
const NAMES = templateOf({ type: 'BODY', text: 'Hi {{first_name}}.' })

const CAMPAIGN: Campaign = {
  ...{
    _id: '0198c0de-7a00-7000-8000-3f6d5a4b2c10',
    name: 'May',
    channel: 1,
    state: 'draft',
    isListed: false,
  },
  ...{ createdAt: '2026-11-02T12:00:00.000Z', updatedAt: '2026-11-02T12:00:00.000Z' },
  template: { name: 'offer', language: 'pt_BR' },
  variables: [{ attribute: 'name', fallback: 'cliente' }, { text: '20%' }],
  audience: { segment: 'shop' },
  schedule: {
    ...{ at: '2026-11-27T09:00:00', timeZone: 'America/Sao_Paulo', inEachTimeZone: true },
    ...{ quietHours: { from: '21:00', to: '08:00' }, endsAt: '2026-11-28T12:00:00.000Z' },
  },
  messagesPerSecond: 5,
  frequencyCap: { messages: 2, days: 7 },
  requiresConsent: true,
  budget: { messages: 100, money: { amount: 50, perMessage: 0.06, currency: 'BRL' } },
  holdoutPercent: 5,
  stopAt: { share: 0.02, of: 500 },
}

test('a campaign that is opened and saved again says the same', () => {
  const { _id, state, isListed, createdAt, updatedAt, stopAt, ...said } = CAMPAIGN
  expect(bodyOf(draftOf(CAMPAIGN, POSITIONS, provider), POSITIONS, provider)).toEqual(said)
})

test('prices by category stay until another price is typed', () => {
  const money = { amount: 50, perMessage: { marketing: 0.06, utility: 0.01 }, currency: 'BRL' }
  const draft = draftOf({ ...CAMPAIGN, budget: { money } }, POSITIONS, provider)
  expect(bodyOf(draft, POSITIONS, provider).budget).toEqual({ money })
  expect(bodyOf({ ...draft, perMessage: '0.02' }, POSITIONS, provider).budget).toEqual({
    money: { ...money, perMessage: 0.02 },
  })
})

test.each<[string, Campaign['audience']]>([
  ['everybody', { everybody: true }],
  ['a filter', { filter: { none: [{ tag: 'vip' }] } }],
])('the audience of a campaign stays as it is in its form: %s', (_name, audience) => {
  const draft = draftOf({ ...CAMPAIGN, audience }, POSITIONS, provider)
  expect(bodyOf(draft, POSITIONS, provider).audience).toEqual(audience)
})

test('an audience that the form can’t show stays as it is, and so does what the form was not asked to change', () => {
  const audience = { people: ['0198c0de-1111-7000-8000-3f6d5a4b2c10'] }
  const body = bodyOf(draftOf({ ...CAMPAIGN, audience }, POSITIONS, provider), POSITIONS, provider)
  expect(body).not.toHaveProperty('audience')
  expect(body).not.toHaveProperty('more')
})

test('variables are by name where the template has names', () => {
  const draft = { ...emptyDraft(), variables: { 'body.first_name': { attribute: 'name', text: '' } } }
  expect(bodyOf(draft, NAMES, provider).variables).toEqual({ first_name: { attribute: 'name' } })
})

test('what the header takes is said beside the variables', () => {
  const draft = { ...emptyDraft(), more: { 'header.link': 'https://example.com/a.jpg' } }
  expect(bodyOf(draft, POSITIONS, provider).more).toEqual({
    header: { image: { link: 'https://example.com/a.jpg' } },
  })
})

test('what is empty is taken away by a change, and not said by a new campaign', () => {
  const body = bodyOf(emptyDraft(), POSITIONS, provider)
  expect(body).toMatchObject({ messagesPerSecond: null, budget: null, frequencyCap: null })
  expect(withoutNulls(body)).not.toHaveProperty('budget')
})

test('an instant is shown in the zone of whoever looks', () => {
  const schedule = { at: '2026-11-27T12:00:00Z', timeZone: 'UTC', inEachTimeZone: false }
  const draft = draftOf({ ...CAMPAIGN, schedule }, POSITIONS, provider)
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  expect(draft.timeZone).toBe(timeZone)
  expect(new Date(draft.at).toISOString()).toBe('2026-11-27T12:00:00.000Z')
})
