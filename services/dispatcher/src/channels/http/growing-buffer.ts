const EMPTY = Buffer.alloc(0)
/** Of the second piece on: most responses come in one. */
const LEAST_BYTES = 1024
/** So many bytes that are not used may stay allocated. */
const MAX_SPARE_BYTES = 8 * 1024

/**
 * Bytes that come in pieces, as one: each is copied, so that a thousand pieces of one byte take a thousand bytes, and none
 * keeps the larger buffer alive that it came in. `maxBytes` is what they are together at most.
 */
export class GrowingBuffer {
  readonly #maxBytes: number
  #bytes = EMPTY
  #length = 0

  constructor(maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes
  }

  get length(): number {
    return this.#length
  }

  /** The bytes of memory that it takes. */
  get allocated(): number {
    return this.#bytes.length
  }

  append(piece: Uint8Array): void {
    const needed = this.#length + piece.length
    if (needed > this.#bytes.length) this.#grow(needed)
    this.#bytes.set(piece, this.#length)
    this.#length = needed
  }

  /** All bytes so far, until something is appended or cleared. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** All bytes so far, which are the caller's from now on. */
  take(): Buffer {
    const all = this.view()
    const taken = this.#bytes.length - this.#length > MAX_SPARE_BYTES ? Buffer.from(all) : all
    this.#bytes = EMPTY
    this.#length = 0
    return taken
  }

  clear(): void {
    this.#length = 0
    if (this.#bytes.length > MAX_SPARE_BYTES) this.#bytes = EMPTY
  }

  #grow(needed: number): void {
    const doubled = Math.min(Math.max(LEAST_BYTES, this.#bytes.length * 2), this.#maxBytes)
    const grown = Buffer.allocUnsafeSlow(this.#length === 0 ? needed : Math.max(needed, doubled))
    grown.set(this.view())
    this.#bytes = grown
  }
}
