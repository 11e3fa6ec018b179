import { afterEach, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { Problem } from '@parley/shared/problem'
import { createUnfinishedBodies } from '../src/await-body.ts'
import { createUpstreamSlots, type SlotLimits } from '../src/upstream-slots.ts'

const LIMITS: SlotLimits = { total: 4, perCaller: 3, waiting: 3, waitingPerCaller: 2, waitMs: 60_000 }

const begun: (() => void)[][] = []
// Whoever still waits goes, and ends.
afterEach(() => {
  for (const releases of begun.splice(0)) for (const at of releases.keys()) releases[at]?.()
})

/** Requests by caller, and the outcome of each. */
function requests(limits: SlotLimits) {
  const slots = createUpstreamSlots(limits)
  const outcomes: string[] = []
  const releases: (() => void)[] = []
  begun.push(releases)
  return {
    outcomes,
    releases,
    take(key: string) {
      const at = outcomes.push('waits') - 1
      slots.take(key, {
        go(release) {
          outcomes[at] = 'goes'
          releases[at] = release
        },
        refuse(problem: Problem) {
          outcomes[at] = problem.code
        },
      })
    },
  }
}

test('one caller leaves slots to others, and its excess waits and then gets rate_limited', () => {
  const { take, outcomes, releases } = requests(LIMITS)
  for (const key of ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'b', 'c']) take(key)
  expect(outcomes).toEqual([
    ...['goes', 'goes', 'goes', 'waits', 'waits', 'rate_limited'],
    ...['goes', 'waits', 'unavailable'],
  ])
  releases[6]?.()
  expect([outcomes[3], outcomes[7]]).toEqual(['waits', 'goes'])
  releases[0]?.()
  expect([outcomes[3], outcomes[4]]).toEqual(['goes', 'waits'])
})

test('a request that waits too long is refused, and takes no slot afterwards', async () => {
  const { take, outcomes, releases } = requests({ ...LIMITS, total: 1, waitMs: 20 })
  take('a')
  take('b')
  expect(await waitUntil(() => outcomes[1] === 'unavailable', { timeoutMs: 30_000, intervalMs: 5 })).toBe(
    true,
  )
  releases[0]?.()
  take('c')
  expect(outcomes).toEqual(['goes', 'unavailable', 'goes'])
})

test('when there are too many unfinished bodies, the caller with the most loses its oldest', () => {
  const bodies = createUnfinishedBodies({ perCaller: 3, total: 4 })
  const given: string[] = []
  const begin = (key: string, name: string) => bodies.begin(key, { giveUp: () => given.push(name) })
  for (const name of ['a1', 'a2', 'a3']) begin('a', name)
  expect(() => begin('a', 'a4')).toThrow(Problem)
  const end = begin('b', 'b1')
  begin('c', 'c1')
  expect(given).toEqual(['a1'])
  end()
  begin('d', 'd1')
  expect(given).toEqual(['a1'])
})
