import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  createRateBucket,
  inFlightLimit,
  peopleFreeAt,
  peopleLeft,
  withPeople,
} from '../../src/campaigns/rules/allowance.ts'
import { budgetMessages, priceOf } from '../../src/campaigns/rules/budget.ts'
import {
  CAMPAIGN_STATES,
  type CampaignAction,
  nextState,
  statesBefore,
} from '../../src/campaigns/rules/campaign-state.ts'
import { nextCheck, recipientStateOf } from '../../src/campaigns/rules/check-times.ts'
import { ineligible, purposeOf } from '../../src/campaigns/rules/eligibility.ts'
import { isInHoldout } from '../../src/campaigns/rules/holdout.ts'
import { type StopFacts, stopReason } from '../../src/campaigns/rules/stop-rules.ts'
import { attributesIn, fillVariables } from '../../src/campaigns/rules/variables.ts'

const ACTIONS: CampaignAction[] = ['schedule', 'unschedule', 'begin', 'pause', 'resume', 'finish', 'cancel']
const HOUR_MS = 3_600_000

describe('transitions', () => {
  test.each([
    ['draft', 'schedule', 'scheduled'],
    ['scheduled', 'unschedule', 'draft'],
    ['scheduled', 'begin', 'running'],
    ['scheduled', 'cancel', 'cancelled'],
    ['running', 'pause', 'paused'],
    ['running', 'finish', 'finished'],
    ['running', 'cancel', 'cancelled'],
    ['paused', 'resume', 'running'],
    ['paused', 'finish', 'finished'],
    ['paused', 'cancel', 'cancelled'],
  ] as const)('%s: %s leads to %s', (state, action, next) => {
    expect(nextState(state, action)).toBe(next)
    expect(statesBefore(action)).toContain(state)
  })

  test('there are no others, and none from what is over', () => {
    const all = CAMPAIGN_STATES.flatMap((state) =>
      ACTIONS.filter((action) => nextState(state, action) !== undefined),
    )
    expect(all).toHaveLength(10)
    expect(ACTIONS.some((action) => nextState('finished', action) ?? nextState('cancelled', action))).toBe(
      false,
    )
  })
})

describe('variables', () => {
  const ana = {
    name: 'Ana\n Souza',
    language: 'pt_BR',
    attributes: { city: ' ', points: 12, constructor: 'x' },
  }

  test('are filled by position or by name, on one line', () => {
    expect(fillVariables([{ attribute: 'name' }, { text: '20%' }, { attribute: 'points' }], ana)).toEqual({
      kind: 'filled',
      variables: ['Ana Souza', '20%', '12'],
    })
    expect(fillVariables({ customer: { attribute: 'name' } }, ana)).toEqual({
      kind: 'filled',
      variables: { customer: 'Ana Souza' },
    })
  })

  test('what is empty or not there has its fallback, else it is missing', () => {
    expect(fillVariables([{ attribute: 'city', fallback: 'sua cidade' }], ana)).toEqual({
      kind: 'filled',
      variables: ['sua cidade'],
    })
    expect(fillVariables([{ attribute: 'city' }, { attribute: 'toString' }], ana)).toEqual({
      kind: 'missing',
      attributes: ['city', 'toString'],
    })
  })

  test('what they are filled from is known', () => {
    expect(
      attributesIn([{ attribute: 'name' }, { attribute: 'city', fallback: 'x' }, { text: 'y' }]),
    ).toEqual({ all: ['name', 'city'], required: ['name'] })
  })
})

describe('who is left out', () => {
  const rules = {
    ...{
      _id: 'c',
      purpose: 'marketing',
      variables: [{ attribute: 'name' }],
      requiresConsent: true,
      holdoutPercent: 0,
    },
    hasAddress: () => true,
  } as const
  const granted = { marketing: { status: 'granted' } } as const

  test.each([
    [{ _id: 'p', name: 'Ana', consent: granted }, {}, undefined],
    [{ _id: 'p', name: 'Ana', consent: granted }, { hasAddress: () => false }, 'no_address'],
    [{ _id: 'p', name: 'Ana', consent: {} }, {}, 'no_consent'],
    [{ _id: 'p', name: 'Ana', consent: {} }, { requiresConsent: false }, undefined],
    [{ _id: 'p', name: 'Ana', consent: { service: { status: 'granted' } } }, {}, 'no_consent'],
    [
      { _id: 'p', name: 'Ana', consent: { marketing: { status: 'withdrawn' } } },
      { requiresConsent: false },
      'opted_out',
    ],
    [{ _id: 'p', consent: granted }, {}, 'missing_variable'],
    [{ _id: 'p', name: 'Ana', consent: granted }, { holdoutPercent: 100 }, 'holdout'],
  ] as const)('%j with %j: %s', (person, more, reason) => {
    expect(ineligible(person, { ...rules, ...more } as Parameters<typeof ineligible>[1])).toBe(reason)
  })

  test('a template whose category is not known counts as marketing', () => {
    expect([undefined, 'MARKETING', 'UTILITY', 'AUTHENTICATION'].map(purposeOf)).toEqual([
      'marketing',
      'marketing',
      'service',
      'service',
    ])
  })

  test('the holdout has about its share, and is the same whenever it is asked', () => {
    const people = Array.from({ length: 10_000 }, (_, index) => `person-${index}`)
    const share = people.filter((person) => isInHoldout('campaign', person, 10)).length
    expect(Math.abs(share - 1_000)).toBeLessThan(150)
    expect(isInHoldout('a', 'b', 50)).toBe(isInHoldout('a', 'b', 50))
  })
})

describe('why it stops by itself', () => {
  const calm: StopFacts = {
    ...{ hasChannel: true, template: { status: 'APPROVED', quality: 'GREEN', shape: 'a' }, shape: 'a' },
    category: 'UTILITY',
    ...{
      isQualityLow: false,
      isRestricted: false,
      causes: [],
      refusals: 10,
      optOuts: 10,
      limits: { share: 0.02, of: 500 },
    },
  }

  test.each([
    [{}, undefined],
    [{ template: undefined }, undefined],
    [{ hasChannel: false }, 'channel_missing'],
    [{ template: { status: 'paused' } }, 'template_paused'],
    [{ template: { status: 'IN_REVIEW' } }, 'template_paused'],
    [{ template: { status: 'DISABLED' } }, 'template_disabled'],
    [{ causes: ['template_paused'] }, 'template_paused'],
    [{ template: { status: 'APPROVED', shape: 'b' } }, 'template_changed'],
    [{ template: { status: 'APPROVED', category: 'UTILITY' } }, undefined],
    [{ template: { status: 'APPROVED', category: 'MARKETING' } }, 'category_changed'],
    [{ category: undefined, template: { status: 'APPROVED', category: 'MARKETING' } }, undefined],
    [{ isRestricted: true }, 'account_restricted'],
    [{ isQualityLow: true }, 'quality_low'],
    [{ template: { status: 'APPROVED', quality: 'RED' } }, 'quality_low'],
    [{ refusals: 11 }, 'refusals'],
    [{ optOuts: 11 }, 'opt_outs'],
    [{ refusals: 11, template: { status: 'DISABLED' } }, 'template_disabled'],
  ] as [Partial<StopFacts>, string | undefined][])('%j: %s', (facts, reason) => {
    expect(stopReason({ ...calm, ...facts })).toBe(reason)
  })
})

describe('how many may be sent', () => {
  test('the rate is met over any time, and what was not sent is not made up for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 }),
        (perSecond, steps) => {
          const bucket = createRateBucket(perSecond, 0)
          let [now, taken] = [0, 0]
          for (const step of steps) {
            now += step
            const available = bucket.available(now)
            expect(available).toBeLessThanOrEqual(Math.max(1, perSecond / 4))
            bucket.take(available)
            taken += available
            expect(taken).toBeLessThanOrEqual((now / 1_000) * perSecond + 1e-6)
          }
        },
      ),
    )
  })

  test('a clock that goes back takes nothing away', () => {
    const bucket = createRateBucket(10, 1_000)
    expect(bucket.available(1_200)).toBe(2)
    expect(bucket.available(0)).toBe(2)
  })

  test('few are under way, and never fewer than 20', () => {
    expect([1, 10, 80].map(inFlightLimit)).toEqual([20, 20, 160])
  })

  test('the limit of people counts over 24 hours, whoever writes to them', () => {
    const hours = withPeople(withPeople({}, 200, 0), 40, HOUR_MS)
    expect(peopleLeft(hours, 250, HOUR_MS)).toBe(10)
    expect(peopleLeft(hours, 100, HOUR_MS)).toBe(0)
    expect(peopleFreeAt(hours, HOUR_MS)).toBe(25 * HOUR_MS)
    expect(peopleLeft(hours, 250, 24 * HOUR_MS)).toBe(10)
    expect(peopleLeft(hours, 250, 25 * HOUR_MS)).toBe(210)
    expect(withPeople(hours, 1, 8 * 24 * HOUR_MS)).toEqual({ 192: 1 })
  })

  test('a clock that is set forth two days and back gives nobody a new limit', () => {
    const ahead = withPeople(withPeople({}, 240, 0), 5, 48 * HOUR_MS)
    expect(peopleLeft(ahead, 250, HOUR_MS)).toBe(5)
  })

  test('a budget of money is for whole messages, the smaller one counts', () => {
    const money = { amount: 0.3, perMessage: 0.1, currency: 'USD' }
    expect(budgetMessages(undefined, [])).toBeUndefined()
    expect(budgetMessages({ money }, ['MARKETING'])).toBe(3)
    expect(budgetMessages({ money, messages: 2 }, [])).toBe(2)
  })

  test('a price by category is that of the dearest which its messages count as', () => {
    const perMessage = { marketing: 0.06, utility: 0.01 }
    const money = { amount: 0.6, perMessage, currency: 'USD' }
    expect(budgetMessages({ money }, ['UTILITY'])).toBe(60)
    expect(budgetMessages({ money }, ['UTILITY', 'MARKETING'])).toBe(10)
    expect(budgetMessages({ money }, [])).toBe(10)
    expect(
      ['UTILITY', 'marketing', 'service', 'constructor', undefined].map((one) => priceOf(perMessage, one)),
    ).toEqual([0.01, 0.06, 0.06, 0.06, 0.06])
  })
})

describe('what a recipient is by their message', () => {
  const now = 1_000_000
  test.each([
    [undefined, 'posted'],
    [{ state: 'received', isOpen: true }, 'posted'],
    [{ state: 'sending', isOpen: true, due: now + 5_000 }, 'posted'],
    [{ state: 'handled', isOpen: true, due: now + HOUR_MS }, 'deferred'],
    [{ state: 'sent', isOpen: false }, 'sent'],
    [{ state: 'read', isOpen: false }, 'read'],
    [{ state: 'failed', isOpen: false }, 'failed'],
    [{ state: 'dead', isOpen: false }, 'dead'],
    [{ state: 'unrouted', isOpen: false }, 'dead'],
    [{ state: 'done', isOpen: false }, 'dead'],
  ] as const)('%j: %s', (message, state) => {
    expect(recipientStateOf(message, now)).toBe(state)
  })

  test('it is looked at ever less often, and not once nothing more is expected', () => {
    const times = [0, 1, 2, 30].map(
      (checks) => (nextCheck({ state: 'sent', isOpen: false }, { now, checks, postedAt: now }) ?? 0) - now,
    )
    expect(times).toEqual([3_000, 6_000, 12_000, HOUR_MS])
    for (const state of ['read', 'failed', 'dead', 'done', 'unrouted'])
      expect(nextCheck({ state, isOpen: false }, { now, checks: 0, postedAt: now })).toBeUndefined()
    expect(
      nextCheck({ state: 'delivered', isOpen: false }, { now, checks: 0, postedAt: now - 4 * 24 * HOUR_MS }),
    ).toBeUndefined()
  })
})
