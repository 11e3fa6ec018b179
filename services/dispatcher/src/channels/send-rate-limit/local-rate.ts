import { LRUCache } from 'lru-cache'
import type { RateKeys } from './send-rate-limit.ts'

const MAX_KEYS = 100_000

/** What was found for a send: a slot that is kept for it, or whose limit it waits for until when at least. */
export type Finding = { kind: 'reserved' | 'number_busy' | 'person_busy'; at: number }

/** A slot for a send, or another one in place of its first, which is given at once and not charged to the person. */
export type SlotRequest = 'first' | 'another'

/**
 * The rate of one instance on its own (GCRA: the generic cell rate algorithm of ITU-T I.371): at most one send each
 * `numberInterval` milliseconds from a number, and one each `personInterval` to a person, up to `personTolerance` early.
 */
export function createLocalRate(limits: {
  numberInterval: number
  personInterval: number
  personTolerance: number
  reserve: number
}): (keys: RateKeys, asked: { now: number; request: SlotRequest }) => Finding {
  const { numberInterval, personInterval, personTolerance, reserve } = limits
  const numbers = new LRUCache<string, number>({ max: MAX_KEYS })
  const persons = new LRUCache<string, number>({ max: MAX_KEYS })
  return (keys, { now, request }) => {
    const pair = `${keys.number} ${keys.person}`
    const number = Math.max(numbers.get(keys.number) ?? 0, now)
    if (request === 'another') {
      numbers.set(keys.number, number + numberInterval)
      return { kind: 'reserved', at: number }
    }
    const person = Math.max(persons.get(pair) ?? 0, number)
    const personFree = person - personTolerance
    if (personFree > number) return { kind: 'person_busy', at: personFree }
    if (number - now > reserve) return { kind: 'number_busy', at: number - reserve / 2 }
    numbers.set(keys.number, number + numberInterval)
    persons.set(pair, person + personInterval)
    return { kind: 'reserved', at: number }
  }
}
