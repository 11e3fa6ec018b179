import { LRUCache } from 'lru-cache'

const MAX_KEYS = 100_000

/** The rates that a send counts against: the number it leaves from, and that number together with the person. */
export interface RateKeys {
  number: string
  person: string
  /** How many a second the provider takes of the number, by what is known of it when this is read. */
  readonly perSecond: number
  /** How many it takes of the number for one person: one in each interval, after a burst; any where it is undefined. */
  perPerson?: { intervalMs: number; burst: number } | undefined
}

/** The same as the time from one send to the next, and how early one may be, in milliseconds. */
export interface RateIntervals {
  numberInterval: number
  personInterval: number
  personTolerance: number
}

/** A decision for a send: a slot is reserved, or the limit of its number or person is busy until that time at least. */
export type RateDecision = { kind: 'reserved' | 'number_busy' | 'person_busy'; at: number }

/**
 * The rate of one instance on its own (GCRA: the generic cell rate algorithm of ITU-T I.371): at most one send each
 * `numberInterval` milliseconds from a number, and one each `personInterval` to a person, up to `personTolerance` early.
 */
export function createLocalRate({
  intervalsOf,
  reserve,
}: {
  intervalsOf(keys: RateKeys): RateIntervals
  reserve: number
}): (keys: RateKeys, request: { now: number; late?: number | undefined }) => RateDecision {
  const numbers = new LRUCache<string, number>({ max: MAX_KEYS })
  const persons = new LRUCache<string, number>({ max: MAX_KEYS })
  return (keys, { now, late }) => {
    const { numberInterval, personInterval, personTolerance } = intervalsOf(keys)
    const pair = `${keys.number} ${keys.person}`
    const number = Math.max(numbers.get(keys.number) ?? 0, now)
    // It missed its slot by so much: another is given at once, and moves the person's rate by as much as it is later.
    if (late !== undefined) {
      numbers.set(keys.number, number + numberInterval)
      persons.set(pair, (persons.get(pair) ?? now) + number - now + late)
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
