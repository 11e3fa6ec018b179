import { afterEach, describe, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import fc from 'fast-check'
import { FairSlots, type Release, type SlotKey, type SlotLimits } from '../src/fair-slots.ts'
import type { Excess } from '../src/slot-group.ts'

const begun: { states: string[]; end(at: number): void }[] = []
// Whoever still waits goes, and ends.
afterEach(() => {
  for (const { states, end } of begun.splice(0))
    for (let at = states.indexOf('goes'); at >= 0; at = states.indexOf('goes')) end(at)
})

/** Slots whose requests are known by number, and what became of each. */
function requests(limits: Omit<SlotLimits, 'of'>) {
  const slots = new FairSlots({ of: 'requests', ...limits })
  const releases: Release[] = []
  const states: ('waits' | 'goes' | 'preempted' | 'ended' | Excess)[] = []
  const made = {
    slots,
    states,
    ask(key: SlotKey, { isPreemptible = false } = {}) {
      const at = states.push('waits') - 1
      slots.wait(key, {
        go(release) {
          states[at] = 'goes'
          releases[at] = release
        },
        refuse(excess) {
          states[at] = excess
        },
        preempt: isPreemptible
          ? () => {
              states[at] = 'preempted'
            }
          : undefined,
      })
      return at
    },
    end(at: number) {
      if (states[at] === 'goes') states[at] = 'ended'
      releases[at]?.()
    },
  }
  begun.push(made)
  return made
}

describe('slots that are not given up', () => {
  test('are spared for whoever comes, and the excess of one is its own', () => {
    const { slots, ask, states } = requests({ total: 9, spare: 2 })
    for (const workspace of [1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6]) ask([workspace])
    expect(states.map((state) => (state === 'goes' ? 1 : state))).toEqual([
      ...[1, 1, 1, 'all', 1, 1, 'all'],
      ...[1, 1, 1, 1, 'all'],
    ])
    expect([slots.size, slots.excess([1]), slots.excess([7])]).toEqual([9, 'own', 'all'])
  })

  test('go next to the workspace with the fewest, and within it to the account with the fewest', () => {
    const { ask, end, states } = requests({ total: 4, queue: { total: 9, each: 9, ms: 60_000 } })
    const taken = [['a', 1] as const, ['a', 1] as const, ['b', 1] as const, ['b', 1] as const].map((key) =>
      ask(key),
    )
    const [a1, b1, b2, c] = [ask(['a', 1]), ask(['b', 1]), ask(['b', 2]), ask(['c', 1])] as const
    const sequence = taken.map((at) => {
      const before = [...states]
      end(at)
      return states.findIndex((state, one) => state === 'goes' && before[one] === 'waits')
    })
    expect(sequence).toEqual([c, a1, b2, b1])
  })

  test('go in turns to those who have as many', () => {
    const { ask, end, states } = requests({ total: 1, queue: { total: 9, each: 9, ms: 60_000 } })
    const first = ask(['a'])
    const waiting = [ask(['a']), ask(['a']), ask(['b']), ask(['b'])]
    const sequence: number[] = []
    for (let at = first, left = 4; left > 0; left--) {
      end(at)
      at = states.indexOf('goes')
      sequence.push(waiting.indexOf(at))
    }
    expect(sequence).toEqual([0, 2, 1, 3])
  })

  test('are waited for as long as the queue says', async () => {
    const { ask, end, states, slots } = requests({ total: 1, queue: { total: 9, each: 9, ms: 20 } })
    for (const key of ['a', 'b', 'a']) ask([key])
    expect(states).toEqual(['goes', 'waits', 'waits'])
    expect(await waitUntil(() => !states.includes('waits'), { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
    expect(states).toEqual(['goes', 'all', 'own'])
    end(0)
    expect(slots.size).toBe(0)
  })

  test('are waited for by a bounded number, of whom the workspace with most gives up its last', () => {
    const { ask, states } = requests({ total: 1, queue: { total: 4, each: 3, ms: 60_000 } })
    for (const key of ['z', 'a', 'a', 'a', 'a', 'b', 'b', 'c']) ask([key])
    expect(states).toEqual(['goes', 'waits', 'own', 'own', 'own', 'waits', 'waits', 'waits'])
  })

  test('reject whoever gets none with the problem that says whose they are', async () => {
    const slots = new FairSlots({ of: 'requests', total: 2, each: [1] })
    const release = await slots.enter(['a'])
    await slots.enter(['b'])
    await expect(slots.enter(['a'])).rejects.toMatchObject({ code: 'rate_limited' })
    await expect(slots.enter(['c'])).rejects.toMatchObject({ code: 'unavailable' })
    release()
    expect(typeof (await slots.enter(['c']))).toBe('function')
  })
})

describe('slots that can be given up', () => {
  const asked = (limits: Omit<SlotLimits, 'of'>, keys: string[]) => {
    const { ask, states } = requests(limits)
    for (const key of keys) ask(key.split(' '), { isPreemptible: true })
    return states
  }

  test('go from the workspace with most to one that has at least two fewer, the oldest or the newest first', () => {
    expect(asked({ total: 3 }, ['a', 'a', 'a', 'b', 'c', 'b'])).toEqual([
      ...['preempted', 'preempted', 'goes'],
      ...['goes', 'goes', 'own'],
    ])
    const newest = { total: 4, preempts: 'newest' as const }
    expect(asked(newest, ['a', 'a', 'a', 'a', 'b', 'b', 'c', 'd', 'e'])).toEqual([
      ...['goes', 'preempted', 'preempted', 'preempted'],
      ...['goes', 'preempted', 'goes', 'goes', 'all'],
    ])
  })

  test('go to one that has one fewer once they are not protected any more', () => {
    const keys = ['a', 'b', 'c', 'a', 'd']
    expect(asked({ total: 2, protectedMs: 0 }, keys)).toEqual([
      ...['preempted', 'preempted', 'preempted'],
      ...['goes', 'goes'],
    ])
    expect(asked({ total: 2, protectedMs: 60_000 }, keys)).toEqual(['goes', 'goes', 'all', 'own', 'all'])
  })

  test('go from one account to another within what their workspace may have', () => {
    const keys = ['w a', 'w a', 'w a', 'w b', 'w b', 'v c']
    expect(asked({ total: 9, each: [3] }, keys)).toEqual([
      ...['preempted', 'goes', 'goes', 'goes'],
      ...['own', 'goes'],
    ])
  })
})

const WORKSPACES = 4
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ workspace: fc.nat(WORKSPACES - 1), account: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ end: fc.nat(200), twice: fc.boolean() }) },
)
const limitsOf = (isPreemptible: boolean): fc.Arbitrary<Omit<SlotLimits, 'of'>> =>
  fc.record({
    total: fc.integer({ min: 1, max: 12 }),
    spare: fc.constantFrom(...(isPreemptible ? [0] : [0, 1, 2])),
    each: fc.constantFrom([], [5], [6, 4]),
    preempts: fc.constantFrom('oldest' as const, 'newest' as const),
    queue: fc.constant({ total: 20, each: 8, ms: 3_600_000 }),
  })

/** Returns how many in a state a workspace, or one of its accounts, has. */
const countIn = (all: { key: number[]; state: string | undefined }[], key: number[], state: string) =>
  all.filter((one) => one.state === state && key.every((name, level) => name === one.key[level])).length

describe.each([false, true])('however requests come and end, given up for others: %s,', (isPreemptible) => {
  test('there are never too many, nobody waits for who has more, and nothing is left counted', () => {
    fc.assert(
      fc.property(limitsOf(isPreemptible), fc.array(action, { maxLength: 150 }), (limits, actions) => {
        const { slots, ask, end, states } = requests(limits)
        const keys: number[][] = []
        const all = () => keys.map((key, at) => ({ key, state: states[at] }))
        const taken = (key: number[], at = all()) => countIn(at, key, 'goes')
        const isOpen = ([workspace = 0, account = 0]: number[], at = all()) => {
          const own = taken([workspace], at)
          const [most = limits.total, mostOfAccount = limits.total] = limits.each ?? []
          const { total, spare = 0 } = limits
          const free = total - taken([], at)
          const isCapped = own >= most || taken([workspace, account], at) >= mostOfAccount
          return free > 0 && !isCapped && own * spare < free
        }
        const check = () => {
          const now = all()
          expect(slots.size).toBe(taken([], now))
          expect(slots.size).toBeLessThanOrEqual(limits.total)
          const waiting = now.filter(({ state }) => state === 'waits')
          expect(waiting.length).toBeLessThanOrEqual(20)
          // Whoever waits has no room; the share of others is given up for them.
          for (const { key } of waiting) expect(isOpen(key, now)).toBe(false)
          const [most = limits.total] = limits.each ?? []
          if (!isPreemptible || slots.size < limits.total) return
          for (const { key } of waiting) {
            const own = taken(key.slice(0, 1), now)
            if (own >= most || taken(key, now) >= (limits.each?.[1] ?? limits.total)) continue
            for (let other = 0; other < WORKSPACES; other++) expect(taken([other], now)).toBeLessThan(own + 2)
          }
        }
        for (const one of actions) {
          if ('workspace' in one) {
            const key = [one.workspace, one.account]
            keys.push(key)
            ask(key, { isPreemptible })
          } else {
            const before = all()
            const going = before.flatMap(({ state }, at) => (state === 'goes' ? [at] : []))
            const at = going[one.end % Math.max(1, going.length)]
            if (at === undefined) continue
            end(at)
            if (one.twice) end(at)
            const [next] = all().flatMap(({ key, state }, n) =>
              state === 'goes' && before[n]?.state === 'waits' ? [{ key, n }] : [],
            )
            if (next === undefined) continue
            // As they stood when the slot was free.
            const free = before.map((b, n) => (n === at ? { ...b, state: 'ended' as const } : b))
            const least = taken(next.key.slice(0, 1), free)
            for (const { key, state } of free)
              if (state === 'waits' && isOpen(key, free))
                expect(taken(key.slice(0, 1), free)).toBeGreaterThanOrEqual(least)
          }
          check()
        }
        for (let left = states.indexOf('goes'); left >= 0; left = states.indexOf('goes')) end(left)
        expect([slots.size, states.filter((state) => state === 'waits')]).toEqual([0, []])
        expect(slots.excess([0, 0])).toBe('all')
      }),
    )
  })
})
