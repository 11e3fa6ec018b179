import { describe, expect, test } from '@jest/globals'
import { behaviour, chance, createBehaviours } from '@parley/local/simulator/behaviours'
import { createLimits } from '@parley/local/simulator/limits'
import type { MetaError } from '@parley/local/simulator/meta-error'

const clock = { now: 1_000 }
const now = () => clock.now

describe('the limits of a phone number', () => {
  const taken = (limits: ReturnType<typeof createLimits>, phoneNumberId: string, to: string) => {
    try {
      limits.take({ phoneNumberId, to, perSecond: 80 })
      return 200
    } catch (error) {
      return (error as MetaError).code
    }
  }

  /** Sends through new limits, to whom `to` says each time, and returns how many were accepted. */
  const sender = (to: () => string) => {
    const limits = createLimits(now)
    return (count: number) =>
      Array.from({ length: count }, () => taken(limits, '1', to())).filter((code) => code === 200).length
  }

  test('allow 80 sends in any second, wherever it begins', () => {
    let person = 0
    const send = sender(() => `p${++person}`)
    expect(send(50)).toBe(50)
    clock.now += 600
    expect(send(50)).toBe(30)
    clock.now += 399
    expect(send(1)).toBe(0)
    clock.now += 1
    expect(send(60)).toBe(50)
    clock.now += 1_000
    expect(send(100)).toBe(80)
  })

  test('do not count the sends of another number, nor those to another person', () => {
    const limits = createLimits(now)
    for (let count = 0; count < 45; count++) taken(limits, '1', 'a')
    expect([taken(limits, '1', 'a'), taken(limits, '1', 'b'), taken(limits, '2', 'a')]).toEqual([
      131056, 200, 200,
    ])
  })

  test('allow one send each 6 s to a person after the burst, and the burst again after a pause', () => {
    const send = sender(() => 'a')
    expect(send(60)).toBe(45)
    clock.now += 5_999
    expect(send(2)).toBe(0)
    clock.now += 1
    expect(send(2)).toBe(1)
    clock.now += 18_000
    expect(send(9)).toBe(3)
    clock.now += 270_000
    expect(send(60)).toBe(45)
  })
})

test('a behaviour with forMs ends after that time', () => {
  const behaviours = createBehaviours(now)
  behaviours.set(
    behaviour.parse({ failures: [{ status: 500, code: 1, forMs: 1_000 }], strictTemplates: true }),
  )
  clock.now += 999
  expect(behaviours.next('1', 'a').failure).toMatchObject({ code: 1 })
  clock.now += 1
  expect(behaviours.next('1', 'a')).toMatchObject({ failure: undefined, strictTemplates: true })
})

test.each([1, 2, 77, 2 ** 31])('chances of seed %d are spread evenly, and runs of them too', (seed) => {
  const draws = Array.from({ length: 10_000 }, (_, turn) => chance(seed, turn))
  for (const share of [0.02, 0.05, 0.5]) {
    const hits = draws.map((draw) => draw < share)
    const count = hits.filter(Boolean).length
    expect(Math.abs(count / 10_000 - share)).toBeLessThan(5 * Math.sqrt((share * (1 - share)) / 10_000))
    const pairs = hits.filter((hit, at) => hit && hits[at + 1]).length
    expect(Math.abs(pairs / 10_000 - share ** 2)).toBeLessThan(0.01)
  }
})
