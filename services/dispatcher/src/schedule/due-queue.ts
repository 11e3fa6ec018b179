import TinyQueue from 'tinyqueue'

const MAX_TIMER_MS = 10_000
/** A clock that goes back by more was set; what is due by it would wait for that time to pass once more. */
export const SET_BACK_MS = 1_000

/** Hands items out once they are due; all of them when the clock was set back. */
export class DueQueue<T> {
  readonly #now: () => number
  readonly #handOut: (item: T) => void
  readonly #items = new TinyQueue<{ due: number; item: T }>([], (a, b) => a.due - b.due)
  /** The latest time of the clock. */
  #latest = 0
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  /** `now` is in milliseconds since the epoch. */
  constructor(options: { now(): number; handOut(item: T): void }) {
    this.#now = options.now
    this.#handOut = options.handOut
  }

  push(item: T, due: number): void {
    this.#items.push({ due, item })
    this.#setTimer()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #setTimer(): void {
    clearTimeout(this.#timer)
    const next = this.#items.peek()
    if (next === undefined || this.#stopped) return
    const now = this.#now()
    const delay = this.#wasSetBack(now) ? 0 : Math.min(Math.max(0, next.due - now), MAX_TIMER_MS)
    this.#timer = setTimeout(() => this.#handOutDue(), delay)
  }

  #handOutDue(): void {
    const now = this.#now()
    const until = this.#wasSetBack(now) ? Number.POSITIVE_INFINITY : now
    this.#latest = now
    for (let next = this.#items.peek(); next !== undefined && next.due <= until; next = this.#items.peek()) {
      this.#items.pop()
      this.#handOut(next.item)
    }
    this.#setTimer()
  }

  #wasSetBack(now: number): boolean {
    if (now < this.#latest - SET_BACK_MS) return true
    this.#latest = now
    return false
  }
}
