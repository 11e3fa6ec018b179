import { CallError } from './call-error.ts'
import { JsonCounter } from './json-counter.ts'

/** What a foreign answer may have at most. */
export interface ResponseBounds {
  bytes: number
  /** Of an event stream: lines, events that say something, and the bytes of one event. */
  lines: number
  events: number
  eventBytes: number
  /** Of a JSON text, which each event is: commas, objects and arrays together, and how deep these nest. */
  nodes: number
  /** Of the text itself, and of the values that it has. */
  outerNodes: number
  /** Nodes of the request's tools, which some providers repeat. */
  repeatedNodes?: number
  depth: number
}

/** What came so far of one answer, or of several together. Its methods throw `answer_too_large` over a bound. */
export class ResponseCount {
  readonly #bounds: ResponseBounds
  #bytes = 0
  #lines = 0
  #events = 0
  #json = new JsonCounter()

  constructor(bounds: ResponseBounds) {
    this.#bounds = bounds
  }

  bytes(more: number): void {
    this.#bytes += more
    check(this.#bytes, this.#bounds.bytes)
  }

  line(): void {
    check(++this.#lines, this.#bounds.lines)
  }

  event(): void {
    check(++this.#events, this.#bounds.events)
  }

  eventBytes(all: number): void {
    check(all, this.#bounds.eventBytes)
  }

  /** A further piece of a JSON text. */
  json(piece: Uint8Array): void {
    this.#json.add(piece)
    check(this.#json.nodes, this.#bounds.nodes)
    check(this.#json.outerNodes, this.#bounds.outerNodes)
    check(this.#json.repeatedNodes, this.#bounds.repeatedNodes ?? this.#bounds.nodes)
    check(this.#json.depth, this.#bounds.depth)
  }

  endOfJson(): void {
    this.#json = new JsonCounter()
  }
}

function check(count: number, bound: number): void {
  if (count > bound) throw new CallError('answer_too_large', new Error(`more than ${bound}`))
}
