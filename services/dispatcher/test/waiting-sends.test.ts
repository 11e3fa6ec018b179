import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import fc from 'fast-check'
import {
  createLocalRate,
  type RateDecision,
  type RateKeys,
} from '../src/channels/send-rate-limit/send-rate-limit.ts'
import { WaitingSends } from '../src/channels/send-rate-limit/waiting-sends.ts'

const INTERVAL_MS = 10
const never = new AbortController().signal

beforeEach(() => {
  jest.useFakeTimers({ now: 0 })
})
afterEach(() => {
  jest.useRealTimers()
})

/** A number's rate, asked over a connection that takes `roundTripMs`, and what was asked. */
function askedRate(roundTripMs: number) {
  const rate = createLocalRate({
    numberInterval: INTERVAL_MS,
    personInterval: 1,
    personTolerance: 1_000,
    reserve: 1_000,
  })
  const asked: string[] = []
  const ask = async (keys: RateKeys): Promise<RateDecision> => {
    asked.push(keys.person)
    const decision = rate(keys, { now: Date.now() })
    await new Promise((resolve) => setTimeout(resolve, roundTripMs))
    return decision
  }
  return { ask, asked }
}

test.each([1, 60])(
  '1,000 sends use up their number with %d ms for an answer, and hardly ask in vain',
  async (ms) => {
    const { ask, asked } = askedRate(ms)
    const waiting = new WaitingSends(ask)
    const slots: number[] = []
    for (let n = 0; n < 1_000; n++)
      void waiting
        .add({ number: 'n', person: `p${n}` }, { notBefore: 0, ended: never })
        .then(({ at }) => slots.push(at))
    await jest.advanceTimersByTimeAsync(1_001 * INTERVAL_MS)
    expect(slots).toHaveLength(1_000)
    expect(slots).toEqual(slots.toSorted((a, b) => a - b))
    expect((slots.at(-1) ?? 0) - (slots[0] ?? 0)).toBeLessThan(1_010 * INTERVAL_MS)
    expect(asked.length).toBeLessThan(1_200)
    expect(waiting.has('n')).toBe(false)
  },
)

test('a send that nobody needs any more takes no slot', async () => {
  const { ask, asked } = askedRate(1)
  const waiting = new WaitingSends(ask)
  const end = new AbortController()
  const found = ['a', 'b', 'c'].map((person) =>
    waiting.add({ number: 'n', person }, { notBefore: 50, ended: person === 'b' ? end.signal : never }),
  )
  end.abort()
  await jest.advanceTimersByTimeAsync(100)
  const kinds = (await Promise.all(found)).map(({ kind }) => kind)
  expect([kinds, asked]).toEqual([
    ['reserved', 'later', 'reserved'],
    ['a', 'c'],
  ])
})

test('those whose person has no room leave their place, and delay nobody behind them', async () => {
  const ask = async ({ person }: RateKeys): Promise<RateDecision> =>
    person === 'busy' ? { kind: 'person_busy', at: 6_000 } : { kind: 'reserved', at: Date.now() }
  const waiting = new WaitingSends(ask)
  const found = ['busy', 'busy', 'free'].map((person) =>
    waiting.add({ number: 'n', person }, { notBefore: 0, ended: never }),
  )
  await jest.advanceTimersByTimeAsync(1)
  expect(await Promise.all(found)).toEqual([
    { kind: 'later', at: 6_000 },
    { kind: 'later', at: 6_000 },
    { kind: 'reserved', at: 0 },
  ])
})

test('a number that is to be asked an hour from now, by a clock that was ahead, is asked within a second', async () => {
  const { ask } = askedRate(1)
  const waiting = new WaitingSends(ask)
  const found = waiting.add({ number: 'n', person: 'a' }, { notBefore: 3_600_000, ended: never })
  await jest.advanceTimersByTimeAsync(1_100)
  expect(await found).toMatchObject({ kind: 'reserved' })
})

const decision = fc.constantFrom<RateDecision['kind']>('reserved', 'number_busy', 'person_busy')
const add = fc.record({
  number: fc.constantFrom('one', 'two'),
  afterMs: fc.integer({ min: 0, max: 40 }),
  isAborted: fc.boolean(),
})

test('each send is found a slot once, unless nobody needs it any more, however the answers come', () =>
  fc.assert(
    fc.asyncProperty(fc.array(add, { maxLength: 60 }), fc.infiniteStream(decision), async (adds, kinds) => {
      const inFlight = { one: 0, two: 0 }
      const ask = async ({ number, person }: RateKeys): Promise<RateDecision> => {
        const one = number as keyof typeof inFlight
        expect(adds[Number(person)]?.isAborted).toBe(false)
        expect(++inFlight[one]).toBeLessThanOrEqual(8)
        const kind = kinds.next().value as RateDecision['kind']
        await new Promise((resolve) => setTimeout(resolve, 2))
        inFlight[one]--
        return { kind, at: Date.now() + 5 }
      }
      const waiting = new WaitingSends(ask)
      const found: number[] = []
      const all: Array<Promise<unknown>> = []
      for (const [n, { number, afterMs, isAborted }] of adds.entries()) {
        await jest.advanceTimersByTimeAsync(afterMs)
        const ended = isAborted ? AbortSignal.abort() : never
        const added = waiting.add({ number, person: String(n) }, { notBefore: Date.now() + 5, ended })
        all.push(added.then(({ kind }) => kind === 'reserved' && found.push(n)))
      }
      await jest.advanceTimersByTimeAsync(10_000)
      await Promise.all(all)
      expect([waiting.has('one'), waiting.has('two')]).toEqual([false, false])
      expect(new Set(found).size).toBe(found.length)
    }),
    { numRuns: 200 },
  ))
