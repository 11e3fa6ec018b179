import { CallError } from './call-error.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a

/** The nesting levels of the text itself and of the values in it. */
const OUTER_LEVELS = 2

/** Providers repeat the tools of a request in the answer, where nobody looks at them: `{tools}` or `{response: {tools}}`. */
const REPEATED_KEY = 'tools'

/**
 * Counts a JSON text while its bytes arrive, before anything parses it: how many commas, objects and arrays it has (its
 * nodes), and how deep they nest. Those of repeated tools are counted apart.
 */
export class JsonCounter {
  nodes = 0
  repeatedNodes = 0
  /** Those of the text itself and of the values in it, which readers look at one by one. */
  outerNodes = 0
  /** The deepest so far. */
  depth = 0
  #level = 0
  #inString = false
  #isEscaped = false
  /** The latest string of the outer levels, as far as it is compared. */
  #string = ''
  /** Where repeated tools began. */
  #repeatedFrom = 0

  add(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#inString) this.#inside(byte)
      else if (byte === QUOTE) {
        this.#inString = true
        this.#string = ''
      } else if (byte === COMMA) this.#separate()
      else if (byte === COLON) this.#startValue()
      else if (byte === 0x7b || byte === 0x5b) this.#open()
      else if (byte === 0x7d || byte === 0x5d) this.#close()
    }
  }

  #inside(byte: number): void {
    const isEscaped = this.#isEscaped
    this.#isEscaped = !isEscaped && byte === BACKSLASH
    if (!isEscaped && byte === QUOTE) this.#inString = false
    else if (this.#level <= OUTER_LEVELS && this.#string.length <= REPEATED_KEY.length)
      this.#string += String.fromCharCode(byte)
  }

  #startValue(): void {
    const isRepeated = this.#level <= OUTER_LEVELS && this.#string === REPEATED_KEY
    if (isRepeated && this.#repeatedFrom === 0) this.#repeatedFrom = this.#level
  }

  #separate(): void {
    if (this.#level === this.#repeatedFrom) this.#repeatedFrom = 0
    this.#count()
  }

  #open(): void {
    this.#count()
    this.#level++
    if (this.#level > this.depth) this.depth = this.#level
  }

  #close(): void {
    if (this.#level === this.#repeatedFrom) this.#repeatedFrom = 0
    this.#level--
  }

  #count(): void {
    if (this.#level <= OUTER_LEVELS) this.outerNodes++
    if (this.#repeatedFrom > 0) this.repeatedNodes++
    else this.nodes++
  }
}

/** The bounds of a foreign answer. */
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

/** Counts the parts of one answer so far, or of several together. Its methods throw `answer_too_large` over a bound. */
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
