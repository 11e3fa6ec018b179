import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import fc from 'fast-check'
import {
  createLocalRate,
  type RateDecision,
  type RateKeys,
} from '../../src/channels/send-rate-limit/local-rate.ts'
import { WaitingSends } from '../../src/channels/send-rate-limit/waiting-sends.ts'

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
  const intervals = { numberInterval: INTERVAL_MS, personInterval: 1, personTolerance: 1_000 }
  const rate = createLocalRate({ intervalsOf: () => intervals, reserve: 1_000 })
  const asked: string[] = []
  const ask = async (keys: RateKeys): Promise<RateDecision> => {
    asked.push(keys.person)
    const decision = rate(keys, { now: Date.now() })
    await new Promise((resolve) => setTimeout(resolve, roundTripMs))
    return decision
  }
  return { ask, asked }
}

test.each([
  [1, 1_200],
  [60, 1_200],
  [400, 2_500],
])(
  '1,000 sends use up their number with %d ms for an answer, and ask less than %d times',
  async (ms, times) => {
    const { ask, asked } = askedRate(ms)
    const waiting = new WaitingSends({ ask, intervalOf: () => INTERVAL_MS })
    const slots: number[] = []
    for (let n = 0; n < 1_000; n++)
      void waiting
        .add({ number: 'n', person: `p${n}`, perSecond: 80 }, { notBefore: 0, ended: never })
        .then(({ at }) => slots.push(at))
    await jest.advanceTimersByTimeAsync(1_001 * INTERVAL_MS + ms)
    expect(slots).toHaveLength(1_000)
    expect(slots).toEqual(slots.toSorted((a, b) => a - b))
    expect((slots.at(-1) ?? 0) - (slots[0] ?? 0)).toBeLessThan(1_010 * INTERVAL_MS + ms)
    expect(asked.length).toBeLessThan(times)
    expect(waiting.has('n')).toBe(false)
  },
)

test('sends of conversations go before those of campaigns that came earlier', async () => {
  const { ask } = askedRate(1)
  const waiting = new WaitingSends({ ask, intervalOf: () => INTERVAL_MS })
  const found: string[] = []
  const add = (person: string, isBulk: boolean) =>
    void waiting
      .add({ number: 'n', person, perSecond: 80 }, { isBulk, notBefore: 0, ended: never })
      .then(() => found.push(person))
  for (let n = 0; n < 200; n++) add(`campaign-${n}`, true)
  await jest.advanceTimersByTimeAsync(10 * INTERVAL_MS)
  const before = found.length
  for (let n = 0; n < 20; n++) add(`person-${n}`, false)
  await jest.advanceTimersByTimeAsync(300 * INTERVAL_MS)
  expect(found).toHaveLength(220)
  const last = found.findLastIndex((person) => person.startsWith('person'))
  // But for the few that were asking for a slot when they came.
  expect(last).toBeLessThan(before + 20 + 10)
})

test('a send that nobody needs any more takes no slot', async () => {
  const { ask, asked } = askedRate(1)
  const waiting = new WaitingSends({ ask, intervalOf: () => INTERVAL_MS })
  const end = new AbortController()
  const found = ['a', 'b', 'c'].map((person) =>
    waiting.add(
      { number: 'n', person, perSecond: 80 },
      { notBefore: 50, ended: person === 'b' ? end.signal : never },
    ),
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
  const waiting = new WaitingSends({ ask, intervalOf: () => INTERVAL_MS })
  const found = ['busy', 'busy', 'free'].map((person) =>
    waiting.add({ number: 'n', person, perSecond: 80 }, { notBefore: 0, ended: never }),
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
  const waiting = new WaitingSends({ ask, intervalOf: () => INTERVAL_MS })
  const found = waiting.add(
    { number: 'n', person: 'a', perSecond: 80 },
    { notBefore: 3_600_000, ended: never },
  )
  await jest.advanceTimersByTimeAsync(1_100)
  expect(await found).toMatchObject({ kind: 'reserved' })
})

const DECISIONS = ['reserved', 'number_busy', 'person_busy'] as const
const FOUND = { reserved: 'reserved', person_busy: 'later' } as const
const sends = fc.array(
  fc.record({
    number: fc.constantFrom('one', 'two'),
    afterMs: fc.integer({ min: 0, max: 40 }),
    /** When nobody needs it any more, from when it was added. */
    endsAfterMs: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
  }),
  { maxLength: 60 },
)

test('sends ask in the order of their number until they get an answer, and find what it says, however the answers come', () =>
  fc.assert(
    fc.asyncProperty(sends, fc.infiniteStream(fc.constantFrom(...DECISIONS)), async (all, kinds) => {
      const model = all.map(({ number }, n) => ({
        n,
        number,
        end: new AbortController(),
        decided: [] as string[],
      }))
      const firstAsked = { one: [] as number[], two: [] as number[] }
      const inFlight = { one: 0, two: 0 }
      const ask = async ({ number, person }: RateKeys): Promise<RateDecision> => {
        const send = model[Number(person)] as (typeof model)[number]
        expect(send.end.signal.aborted).toBe(false)
        expect(send.decided.filter((kind) => kind !== 'number_busy')).toEqual([])
        const name = number as keyof typeof inFlight
        if (send.decided.length === 0) firstAsked[name].push(send.n)
        expect(++inFlight[name]).toBeLessThanOrEqual(8)
        const kind = kinds.next().value as RateDecision['kind']
        send.decided.push(kind)
        await new Promise((resolve) => setTimeout(resolve, 2))
        inFlight[name]--
        return { kind, at: Date.now() + 5 }
      }
      const waiting = new WaitingSends({ ask, intervalOf: () => INTERVAL_MS })
      const found: Array<Promise<string>> = []
      for (const [n, { number, afterMs, endsAfterMs }] of all.entries()) {
        await jest.advanceTimersByTimeAsync(afterMs)
        const end = model[n]?.end as AbortController
        if (endsAfterMs !== undefined) setTimeout(() => end.abort(), endsAfterMs)
        const added = waiting.add(
          { number, person: `${n}`, perSecond: 80 },
          { notBefore: Date.now() + 5, ended: end.signal },
        )
        found.push(added.then(({ kind }) => kind))
      }
      await jest.advanceTimersByTimeAsync(10_000)
      const kindsFound = await Promise.all(found)
      expect([waiting.has('one'), waiting.has('two')]).toEqual([false, false])
      for (const order of Object.values(firstAsked)) expect(order).toEqual(order.toSorted((a, b) => a - b))
      for (const { n, decided, end } of model) {
        const last = decided.at(-1)
        if (last === 'reserved' || last === 'person_busy') expect(kindsFound[n]).toBe(FOUND[last])
        else expect([kindsFound[n], end.signal.aborted]).toEqual(['later', true])
      }
    }),
    { numRuns: 200 },
  ))
