import { LRUCache } from 'lru-cache'

const MAX_NUMBERS = 10_000

/** How many sends of a number were refused, by Meta's code. */
export type RefusalCounts = Record<string, number>

export interface Refusals {
  count(phoneNumberId: string, code: number): void
  /** Of one phone number where one is given, else of all. */
  counts(phoneNumberId?: string): RefusalCounts
}

/** Counts what was refused since the simulator started. */
export function createRefusals(): Refusals {
  const numbers = new LRUCache<string, RefusalCounts>({ max: MAX_NUMBERS })
  const all: RefusalCounts = {}
  const add = (counts: RefusalCounts, code: number) => {
    counts[code] = (counts[code] ?? 0) + 1
  }
  return {
    count(phoneNumberId, code) {
      const own = numbers.get(phoneNumberId) ?? {}
      add(own, code)
      numbers.set(phoneNumberId, own)
      add(all, code)
    },
    counts: (phoneNumberId) => (phoneNumberId === undefined ? all : (numbers.get(phoneNumberId) ?? {})),
  }
}
