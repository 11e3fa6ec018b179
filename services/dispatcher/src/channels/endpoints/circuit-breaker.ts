/** Calls in a row that brought no answer, after which an endpoint is left alone. */
export const FAILURES = 5
/** How long it is left alone at first, in milliseconds; twice as long after each probe that brought none either. */
export const OPEN_MS = 5_000
export const MAX_OPEN_MS = 60_000
/** A probe that has not ended by then counts no more: most calls take less, and the others say how long they may take. */
export const PROBE_MS = 20_000
/** Milliseconds that a call takes besides waiting for its answer. */
const MARGIN_MS = 5_000
const MAX_PROBE_MS = 125_000

/** How a call ended: any answer says that the endpoint works; `unknown` when it was not made. */
export type CallEnd = 'answered' | 'unanswered' | 'unknown'

type BreakerEntry = { kind: 'entered'; end(end: CallEnd): boolean } | { kind: 'refused'; until: number }

/**
 * The circuit breaker of one endpoint: `closed` until five calls in a row brought no answer, then `open`, then
 * `half_open` with one probe at a time, whose end closes or opens it. `now` is in milliseconds.
 */
export class CircuitBreaker {
  readonly #now: () => number
  #failures = 0
  /** In a row, without an answer between them. */
  #openings = 0
  #openUntil = 0
  #probeUntil = 0

  constructor(now: () => number) {
    this.#now = now
  }

  state(): 'closed' | 'open' | 'half_open' {
    if (this.#openings === 0) return 'closed'
    return isAhead(this.#openUntil, { now: this.#now(), atMost: MAX_OPEN_MS }) ? 'open' : 'half_open'
  }

  /**
   * Whether a call that takes `timeoutMs` at most may be made; one that entered has to be ended, which says whether the
   * breaker opened by it.
   */
  enter({ timeoutMs = 0 }: { timeoutMs?: number | undefined } = {}): BreakerEntry {
    const now = this.#now()
    if (this.state() === 'open') return { kind: 'refused', until: this.#openUntil }
    if (isAhead(this.#probeUntil, { now, atMost: MAX_PROBE_MS }))
      return { kind: 'refused', until: this.#probeUntil }
    if (this.state() === 'half_open')
      this.#probeUntil = now + Math.min(Math.max(PROBE_MS, timeoutMs + MARGIN_MS), MAX_PROBE_MS)
    const openings = this.#openings
    return { kind: 'entered', end: (end) => this.#end(end, openings) }
  }

  #end(end: CallEnd, openings: number): boolean {
    if (end === 'answered') {
      this.#failures = 0
      this.#openings = 0
      this.#openUntil = 0
      this.#probeUntil = 0
    }
    // A call that was in flight when the breaker opened says nothing new.
    if (end === 'answered' || openings !== this.#openings) return false
    this.#probeUntil = 0
    if (end === 'unknown' || ++this.#failures < FAILURES) return false
    this.#openUntil = this.#now() + Math.min(OPEN_MS * 2 ** this.#openings, MAX_OPEN_MS)
    this.#openings++
    return true
  }
}

/** A time that is further ahead than it can have been set was set by a clock that was set back since. */
function isAhead(time: number, { now, atMost }: { now: number; atMost: number }): boolean {
  return now < time && time <= now + atMost
}
