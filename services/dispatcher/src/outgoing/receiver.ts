import { CircuitBreaker } from '../channels/endpoints/circuit-breaker.ts'
import type { Delivery } from '../message/delivery.ts'
import type { Mark } from './subscriptions.ts'

/** Deliveries of one subscription in flight, and those of one that fails at the moment. */
const IN_FLIGHT = 16
const IN_FLIGHT_FAILING = 4
const BUFFERED = 200

/** The deliveries of a subscription in memory: those that wait for room here, and those in flight. */
export class Receiver {
  readonly key: string
  readonly breaker: CircuitBreaker
  /** In order; none of them is in flight. */
  buffer: Delivery[] = []
  readonly inFlight = new Set<string>()
  readonly #lines = new Set<string>()
  /** There may be fresh ones that are not in the buffer. */
  hasMore = false
  /** When the next one that failed is due; undefined while that is not known. */
  nextDue: number | undefined
  /** Nothing is tried before. */
  pausedUntil = 0
  failingSince: number | undefined
  isRead = false
  /** How often it was to be read again: what a read brings that began before may lack what has come back from being in flight. */
  readsAgain = 0
  /** When those that wait were counted, by the clock of `performance.now()`. */
  countedAt = Number.NEGATIVE_INFINITY
  /** The state that configuration was last asked to mark it with. */
  marked: Mark['state'] | undefined

  constructor(key: string, now: () => number) {
    this.key = key
    this.breaker = new CircuitBreaker(now)
  }

  get hasRoom(): boolean {
    return this.inFlight.size < (this.failingSince === undefined ? IN_FLIGHT : IN_FLIGHT_FAILING)
  }

  /** With so many in memory nothing more is read. */
  get isFull(): boolean {
    return this.buffer.length >= BUFFERED
  }

  /** How many fresh ones to read, so that those in flight, which are among them, leave 200. */
  get limit(): number {
    return BUFFERED + this.inFlight.size
  }

  /** Takes the next one that may leave: events of one line leave one after another, unless one is being retried. */
  take(): Delivery | undefined {
    const at = this.buffer.findIndex(({ fresh, line }) => fresh !== true || !this.#lines.has(line))
    const [delivery] = at < 0 ? [] : this.buffer.splice(at, 1)
    if (delivery === undefined) return undefined
    this.inFlight.add(delivery._id)
    if (delivery.fresh) this.#lines.add(delivery.line)
    return delivery
  }

  settled({ _id, fresh, line }: Delivery): void {
    this.inFlight.delete(_id)
    if (fresh) this.#lines.delete(line)
  }

  /** Discards the buffered deliveries, which are read again in order. */
  readAgain(from: number): void {
    this.buffer = []
    this.hasMore = true
    this.readsAgain++
    this.isDueAt(from)
  }

  /** One that failed is due then. */
  isDueAt(time: number | undefined): void {
    if (time !== undefined) this.nextDue = Math.min(this.nextDue ?? time, time)
  }

  /** Puts one that did not leave back to its place. */
  putBack(delivery: Delivery): void {
    this.settled(delivery)
    this.buffer.unshift(delivery)
  }

  /** Those in memory, as they are before more are read: what is settled meanwhile is not taken for new. */
  known(): Set<string> {
    return new Set([...this.inFlight, ...this.buffer.map(({ _id }) => _id)])
  }
}
