import { LRUCache } from 'lru-cache'
import type { Outcome } from '../../message/outcome.ts'
import { type CallEnd, CircuitBreaker } from './circuit-breaker.ts'

/** Calls of one workspace to one host at once, of one instance. */
const CALLS_AT_ONCE = 256
const MAX_ENDPOINTS = 10_000
/** Whole URLs, which may be long: most calls go to few of them. */
const MAX_TARGETS = 1_000
/** A call beyond {@link CALLS_AT_ONCE} queues for so long; then its message waits, and its thread leaves its place to others. */
const QUEUE_MS = 2_000
const MAX_QUEUED = 1_000
/** Those that wait for one endpoint ask again one after another, so that they neither crowd it nor this process. */
const SPACING_MS = 5
const MAX_SPREAD_MS = 60_000
const BUSY_MS = 500

/** The admission of a call that is to be made now. */
export type Admission =
  | { kind: 'entered'; leave(end: CallEnd): void }
  /** Not before this time (milliseconds since the epoch); ask again then. */
  | { kind: 'wait'; until: number; for: 'circuit_breaker' | 'host'; reason: string }

export interface Endpoints {
  /**
   * Asks for a call to a URL that takes `timeoutMs` at most, at once or within 2 s. Whoever has entered leaves, whatever
   * happened.
   */
  enter(target: {
    workspace: number
    url: string
    timeoutMs?: number | undefined
  }): Admission | Promise<Admission>
  /** Endpoints whose circuit breaker is not closed. */
  open(): number
}

/** When the last one of those that wait asks again. */
interface Line {
  lastTurn: number
}

interface Host extends Line {
  calls: number
  queue: Set<(hasRoom: boolean) => void>
}

/**
 * Bounds the calls of one workspace in flight at one host, and stops calls to endpoints that do not answer. An endpoint is
 * origin and path as one workspace calls it: two handlers on one host fail apart, and nobody can open the breaker of
 * another workspace by a slow call of their own. All in memory of this instance; the least used are forgotten.
 */
export function createEndpoints(options: { now: () => number; opened(): void }): Endpoints {
  const { now, opened } = options
  const breakers = new LRUCache<string, Line & { breaker: CircuitBreaker }>({ max: MAX_ENDPOINTS })
  const hosts = new LRUCache<string, Host>({ max: MAX_ENDPOINTS })
  const targets = new LRUCache<string, Target>({ max: MAX_TARGETS })
  /** With room at the host. */
  const enterAt = (host: Host, { key, name }: Target, timeoutMs: number | undefined): Admission => {
    const guard = known(breakers, key, () => ({ breaker: new CircuitBreaker(now), lastTurn: 0 }))
    const entry = guard.breaker.enter({ timeoutMs })
    if (entry.kind === 'refused') {
      leaveHost(host)
      const reason = `${name} has not answered lately, and is tried by one call at a time.`
      return { kind: 'wait', until: turnOf(guard, entry.until), for: 'circuit_breaker', reason }
    }
    const leave = once((end) => {
      leaveHost(host)
      if (entry.end(end)) opened()
    })
    return { kind: 'entered', leave }
  }
  return {
    enter({ workspace, url, timeoutMs }) {
      const target = known(targets, `${workspace} ${url}`, () => targetOf(workspace, url))
      const { name, origin } = target
      const host = known(hosts, origin, (): Host => ({ calls: 0, queue: new Set(), lastTurn: 0 }))
      if (host.calls < CALLS_AT_ONCE) {
        host.calls++
        return enterAt(host, target, timeoutMs)
      }
      const reason = `${CALLS_AT_ONCE} calls to ${name} are in flight.`
      const busy = (): Admission => {
        return { kind: 'wait', until: turnOf(host, now() + BUSY_MS), for: 'host', reason }
      }
      if (host.queue.size >= MAX_QUEUED) return busy()
      return roomAt(host).then((hasRoom) => (hasRoom ? enterAt(host, target, timeoutMs) : busy()))
    },
    open: () => [...breakers.values()].filter(({ breaker }) => breaker.state() !== 'closed').length,
  }
}

/** Resolves with whether there is room, which is the asker's then. */
function roomAt(host: Host): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (hasRoom: boolean) => {
      clearTimeout(timer)
      host.queue.delete(end)
      resolve(hasRoom)
    }
    const timer = setTimeout(() => end(false), QUEUE_MS)
    host.queue.add(end)
  })
}

/** The room goes to the one that has queued for longest. */
function leaveHost(host: Host): void {
  const [next] = host.queue
  if (next === undefined) host.calls--
  else next(true)
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

/** Returns the conclusion about the endpoint from an attempt's outcome. */
export function callEndOf(outcome: Outcome | { kind: 'answer' }): CallEnd {
  if (outcome.kind === 'accepted' || outcome.kind === 'answer') return 'answered'
  if (outcome.kind === 'uncertain' && outcome.isFinal === true)
    return outcome.hasResponse === true ? 'answered' : 'unanswered'
  if (outcome.code === 'not_reached' || outcome.code === 'no_answer') return 'unanswered'
  return NOT_MADE.has(outcome.code) ? 'unknown' : 'answered'
}

/** Codes of attempts that ended before anything left. */
const NOT_MADE = new Set(['target_refused', 'bad_request', 'channel_not_configured', 'no_address'])

/** A host by its name, and origin and endpoint as one workspace calls them. */
interface Target {
  name: string
  origin: string
  key: string
}

function targetOf(workspace: number, url: string): Target {
  if (!URL.canParse(url)) return { name: '', origin: `${workspace} `, key: `${workspace} ` }
  const { host: name, origin, pathname } = new URL(url)
  return { name, origin: `${workspace} ${origin}`, key: `${workspace} ${origin}${pathname}` }
}

function known<V extends object>(entries: LRUCache<string, V>, key: string, make: () => V): V {
  const found = entries.get(key)
  if (found !== undefined) return found
  const made = make()
  entries.set(key, made)
  return made
}
