import { LRUCache } from 'lru-cache'
import type { Outcome } from '../outcome.ts'
import { type CallEnd, CircuitBreaker } from './circuit-breaker.ts'

/** Calls of one workspace to one host at once, of one instance. */
const CALLS_AT_ONCE = 128
const MAX_ENDPOINTS = 10_000
/** Those that wait for one host ask again one after another, so that they neither crowd it nor this process. */
const SPACING_MS = 5
const MAX_SPREAD_MS = 60_000
const BUSY_MS = 50

/** Whether a call may be made now. */
export type Admission =
  | { kind: 'entered'; leave(end: CallEnd): void }
  /** Not before this time (milliseconds since the epoch); ask again then. */
  | { kind: 'wait'; until: number; for: 'circuit_breaker' | 'host'; reason: string }

export interface Endpoints {
  /** Asks for a call to a URL. Whoever has entered leaves, whatever happened. */
  enter(target: { workspace: number; url: string }): Admission
  /** Endpoints whose circuit breaker is not closed. */
  open(): number
}

/** When the last one of those that wait asks again. */
interface Line {
  lastTurn: number
}

/**
 * Bounds what one workspace has under way at one host, and leaves endpoints alone that do not answer. An endpoint is
 * origin and path as one workspace calls it: two handlers on one host fail apart, and nobody can open the breaker of
 * another workspace by a slow call of their own. All in memory of this instance; the least used are forgotten.
 */
export function createEndpoints(options: { now: () => number; opened(): void }): Endpoints {
  const { now, opened } = options
  const breakers = new LRUCache<string, Line & { breaker: CircuitBreaker }>({ max: MAX_ENDPOINTS })
  const hosts = new LRUCache<string, Line & { calls: number }>({ max: MAX_ENDPOINTS })
  return {
    enter({ workspace, url }) {
      const { host, origin, endpoint } = partsOf(url)
      const line = known(hosts, `${workspace} ${origin}`, () => ({ calls: 0, lastTurn: 0 }))
      if (line.calls >= CALLS_AT_ONCE)
        return {
          kind: 'wait',
          until: turnOf(line, now() + BUSY_MS),
          for: 'host',
          reason: `${CALLS_AT_ONCE} calls to ${host} are under way.`,
        }
      const guard = known(breakers, `${workspace} ${endpoint}`, () => ({
        breaker: new CircuitBreaker(now),
        lastTurn: 0,
      }))
      const entry = guard.breaker.enter()
      if (entry.kind === 'refused')
        return {
          kind: 'wait',
          until: turnOf(guard, entry.until),
          for: 'circuit_breaker',
          reason: `${host} has not answered lately, and is tried by one call at a time.`,
        }
      line.calls++
      return {
        kind: 'entered',
        leave: once((end) => {
          line.calls--
          if (entry.end(end)) opened()
        }),
      }
    },
    open: () => [...breakers.values()].filter(({ breaker }) => breaker.state() !== 'closed').length,
  }
}

function turnOf(line: Line, from: number): number {
  line.lastTurn = Math.min(Math.max(line.lastTurn + SPACING_MS, from), from + MAX_SPREAD_MS)
  return line.lastTurn
}

function once(leave: (end: CallEnd) => void): (end: CallEnd) => void {
  let left = false
  return (end) => {
    if (!left) leave(end)
    left = true
  }
}

/** What an attempt's outcome says about the endpoint. */
export function callEndOf(outcome: Outcome | { kind: 'answer' }): CallEnd {
  if (outcome.kind === 'accepted' || outcome.kind === 'answer') return 'answered'
  if (outcome.code === 'not_reached' || outcome.code === 'no_answer') return 'unanswered'
  return NOT_MADE.has(outcome.code) ? 'unknown' : 'answered'
}

/** Codes of attempts that ended before anything left. */
const NOT_MADE = new Set(['target_refused', 'bad_request', 'channel_not_configured', 'no_recipient'])

function partsOf(url: string): { host: string; origin: string; endpoint: string } {
  if (!URL.canParse(url)) return { host: '', origin: '', endpoint: '' }
  const { host, origin, pathname } = new URL(url)
  return { host, origin, endpoint: origin + pathname }
}

function known<V extends object>(entries: LRUCache<string, V>, key: string, make: () => V): V {
  const found = entries.get(key)
  if (found !== undefined) return found
  const made = make()
  entries.set(key, made)
  return made
}
