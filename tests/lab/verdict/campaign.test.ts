import { expect, test } from '@jest/globals'
import { verdictOf } from './campaign.ts'

const account = { sends: 2, doubled: 0, unaccounted: 0, againstConsent: 0, difference: 0, busiestSecond: 2 }
const people = [
  { phone: '1', hasConsent: true },
  { phone: '2', hasConsent: true },
  { phone: '3', hasConsent: false },
]
const sends = [
  { to: '1', at: 1_000 },
  { to: '2', at: 2_000 },
]
const run = {
  ...{
    people,
    sends,
    account,
    optOuts: new Map<string, number>(),
    unanswered: new Set<string>(),
    overRate: 0,
    toCome: 0,
    state: 'finished',
  },
}

test('a run passes in which everybody who agreed got one', () => {
  expect(verdictOf(run)).toMatchObject({ missed: 0, afterOptOut: 0, passed: true })
})

test.each([
  ['somebody is missed', { sends: sends.slice(1) }],
  ['somebody got two', { account: { ...account, doubled: 1 } }],
  ['somebody who had not agreed got one', { account: { ...account, againstConsent: 1 } }],
  ['somebody got one long after opting out', { optOuts: new Map([['2', -10_000]]) }],
  ['the number was refused for its rate', { overRate: 1 }],
  ['somebody is in no state', { account: { ...account, difference: -1 } }],
  ['it is not over', { state: 'paused' }],
  ['somebody is still to come', { toCome: 1 }],
])('a run fails where %s', (_what, change) => {
  expect(verdictOf({ ...run, ...change }).passed).toBe(false)
})

test('who opts out while their send is claimed is neither missed nor written to wrongly', () => {
  expect(verdictOf({ ...run, optOuts: new Map([['2', 1_500]]) })).toMatchObject({
    ...{ missed: 0, afterOptOut: 0, optOuts: 1, passed: true },
  })
})

test('who opted out by a request that was not answered is not missed', () => {
  const unanswered = new Set(['2'])
  expect(verdictOf({ ...run, sends: sends.slice(0, 1), unanswered })).toMatchObject({
    missed: 0,
    passed: true,
  })
})
