import { LRUCache } from 'lru-cache'
import { MetaError } from './meta-error.ts'

const SECOND_MS = 1_000
const PAIR_INTERVAL_MS = 6_000
const PAIR_BURST = 45
const MAX_NUMBERS = 10_000
const MAX_PAIRS = 100_000
const OPEN_MS = 24 * 60 * 60 * 1_000

export interface SimulatorLimits {
  /** Counts a send from a number, which may make so many, to a person. Throws Meta's error when it is one too many. */
  take(send: { phoneNumberId: string; to: string; perSecond: number }): void
}

/**
 * Meta's limits: a number sends at most its messages in any second (130429), and to one person one each 6 s after
 * a burst of 45 (131056). `now` is in milliseconds and never goes back.
 */
export function createLimits(now: () => number): SimulatorLimits {
  /** Of each number the times of its last sends, as many as it may make, oldest first. */
  const seconds = new LRUCache<string, number[]>({ max: MAX_NUMBERS })
  /** Of each pair when it is back at rest. */
  const pairs = new LRUCache<string, number>({ max: MAX_PAIRS })
  return {
    take({ phoneNumberId, to, perSecond }) {
      const at = now()
      const times = seconds.get(phoneNumberId) ?? []
      times.splice(0, times.length - perSecond)
      const oldest = times.length < perSecond ? undefined : times[0]
      if (oldest !== undefined && at - oldest < SECOND_MS) throw tooFast()
      const pair = `${phoneNumberId} ${to}`
      const atRest = Math.max(pairs.get(pair) ?? 0, at)
      if (atRest - at > PAIR_INTERVAL_MS * (PAIR_BURST - 1)) throw tooManyToOne()
      pairs.set(pair, atRest + PAIR_INTERVAL_MS)
      if (oldest !== undefined) times.shift()
      times.push(at)
      seconds.set(phoneNumberId, times)
    },
  }
}

function tooFast(): MetaError {
  return new MetaError({
    status: 400,
    code: 130429,
    message: 'Rate limit hit',
    details: 'Message failed to send because there were too many messages sent from this phone number',
  })
}

function tooManyToOne(): MetaError {
  return new MetaError({
    status: 400,
    code: 131056,
    message: '(Business Account, Consumer Account) pair rate limit hit',
    details:
      'Message failed to send because there were too many messages sent to this person in a short time',
  })
}

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
