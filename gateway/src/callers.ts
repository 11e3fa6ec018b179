import type { Caller } from '@parley/shared/internal-token'
import { isUnavailable } from '@parley/shared/unavailable'
import { LRUCache } from 'lru-cache'
import { type ConfirmingDependencies, confirmCaller, type KnownCaller } from './confirm-caller.ts'
import { createSingleFlight } from './single-flight.ts'

/** What identity says to forget: all callers of a session, account, role, workspace or API token. */
export interface Forgettable {
  kind: string
  key: string
  /** When it was first heard of, on the clock of `performance.now()`. */
  seenAt: number
}

export interface Callers {
  /** Who is behind a token, if that was confirmed within the last minute. */
  known(token: string): KnownCaller | undefined
  /** Asks identity. Throws `unauthenticated`, or `unavailable` when it can't be asked. */
  resolve(token: string): Promise<KnownCaller>
  /** Forgets whoever is touched by one of the changes and was asked about before it was seen. */
  forget(changes: readonly Forgettable[]): void
  forgetAll(): void
  /** Whether there is a caller who can go on while identity is unavailable. */
  isWarm(): boolean
}

const CACHED = 20_000
const RETRY_MS = 1_000

/**
 * Keeps who is behind the last 20,000 tokens. What identity confirmed holds for 60 s; after that it is asked
 * again, and while it can't be reached a caller goes on until the token itself ends, 15 minutes at most.
 */
export function createCallers(dependencies: ConfirmingDependencies): Callers {
  const callers = new LRUCache<string, KnownCaller>({ max: CACHED })
  const once = createSingleFlight<KnownCaller>()
  const confirm = async (token: string, known: KnownCaller | undefined) => {
    try {
      const confirmed = await confirmCaller(dependencies, token)
      callers.set(token, confirmed)
      return confirmed
    } catch (error) {
      if (known !== undefined && isUnavailable(error) && goesOn(known)) return known
      callers.delete(token)
      throw error
    }
  }
  return {
    known: (token) => {
      const known = callers.get(token)
      return known !== undefined && performance.now() < known.confirmedUntil ? known : undefined
    },
    resolve: (token) => once(token, () => confirm(token, callers.get(token))),
    forget: (changes) => {
      const seenAt = new Map(changes.map(({ kind, key, seenAt }) => [`${kind} ${key}`, seenAt]))
      if (seenAt.size === 0) return
      for (const [token, known] of callers.entries()) if (isTouched(known, seenAt)) callers.delete(token)
    },
    forgetAll: () => callers.clear(),
    isWarm: () => {
      const now = performance.now()
      return callers.values().some(({ usableUntil }) => now < usableUntil)
    },
  }
}

/** Lets a caller whom identity can't be asked about go on for another second, while the token holds. */
function goesOn(known: KnownCaller): boolean {
  const now = performance.now()
  known.confirmedUntil = Math.min(now + RETRY_MS, known.usableUntil)
  return now < known.usableUntil
}

function isTouched({ caller, askedAt }: KnownCaller, seenAt: Map<string, number>): boolean {
  return keysOf(caller).some((key) => askedAt <= (seenAt.get(key) ?? Number.NEGATIVE_INFINITY))
}

function keysOf({ account, workspace, role, session, token }: Caller): string[] {
  const ids = { account: account._id, workspace: workspace._id, role: role._id, session, token }
  return Object.entries(ids).map(([kind, id]) => `${kind} ${id}`)
}
