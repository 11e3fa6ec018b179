import { LRUCache } from 'lru-cache'
import { MetaError } from './meta-error.ts'

const OPEN_MS = 24 * 60 * 60 * 1_000
const MAX_PAIRS = 500_000

export interface CustomerWindows {
  /** A person wrote to the number at this time (milliseconds since the epoch). */
  wrote(phoneNumberId: string, person: string, at: number): void
  /** Throws Meta's error when the person has not written to the number for 24 hours. */
  check(phoneNumberId: string, person: string): void
}

/** Stores who wrote to which number, and when: for 24 hours the number may reply with any text. */
export function createCustomerWindows(now: () => number): CustomerWindows {
  const lastWrote = new LRUCache<string, number>({ max: MAX_PAIRS })
  return {
    wrote(phoneNumberId, person, at) {
      const pair = `${phoneNumberId} ${person}`
      lastWrote.set(pair, Math.max(lastWrote.get(pair) ?? 0, at))
    },
    check(phoneNumberId, person) {
      const last = lastWrote.get(`${phoneNumberId} ${person}`)
      if (last !== undefined && now() - last < OPEN_MS) return
      throw new MetaError({
        status: 400,
        code: 131047,
        message: 'Re-engagement message',
        details: 'More than 24 hours have passed since the customer last replied to this number',
      })
    },
  }
}
