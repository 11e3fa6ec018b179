import { GrowingBuffer } from './growing-buffer.ts'
import type { ResponseCount } from './response-bounds.ts'

/** Splits a body: chunks go into `add`, and finished pieces are taken until there are no more. */
export interface Pieces {
  /** In bytes, what stays in memory until the response has ended. */
  readonly bytesInUse: number
  add(chunk: Uint8Array): void
  take(): Uint8Array | undefined
  end(): Uint8Array | undefined
}

/** Changes what a library is to read: a whole text, or a line of events. */
export type Change = (piece: string) => string

/** Longer texts, and longer lines, are passed on as they come. */
const MAX_CHANGED = 256 * 1024

/** A text in the pieces in which it comes: whoever reads it gathers them all. */
export class TextPieces implements Pieces {
  bytesInUse = 0
  readonly #count: ResponseCount
  #piece: Uint8Array | undefined

  constructor(count: ResponseCount) {
    this.#count = count
  }

  add(chunk: Uint8Array): void {
    this.#count.json(chunk)
    this.bytesInUse += chunk.length
    this.#piece = chunk
  }

  take(): Uint8Array | undefined {
    const piece = this.#piece
    this.#piece = undefined
    return piece
  }

  end(): undefined {
    this.#count.endOfJson()
  }
}

/** A text that is changed when all of it is there. */
export class ChangedText implements Pieces {
  readonly #text: TextPieces
  readonly #change: Change
  readonly #whole = new GrowingBuffer()
  #isLong = false

  constructor(text: TextPieces, change: Change) {
    this.#text = text
    this.#change = change
  }

  get bytesInUse(): number {
    return this.#text.bytesInUse
  }

  add(chunk: Uint8Array): void {
    this.#text.add(chunk)
  }

  take(): Uint8Array | undefined {
    const piece = this.#text.take()
    if (piece === undefined || this.#isLong) return piece
    this.#whole.append(piece)
    this.#isLong = this.#whole.length > MAX_CHANGED
    return this.#isLong ? this.#whole.take() : undefined
  }

  end(): Uint8Array | undefined {
    this.#text.end()
    return this.#whole.length === 0 ? undefined : Buffer.from(this.#change(this.#whole.view().toString()))
  }
}

/** Events in whole lines, each of which is changed. */
export class ChangedEvents implements Pieces {
  readonly #events: Pieces
  readonly #change: Change

  constructor(events: Pieces, change: Change) {
    this.#events = events
    this.#change = change
  }

  get bytesInUse(): number {
    return this.#events.bytesInUse
  }

  add(chunk: Uint8Array): void {
    this.#events.add(chunk)
  }

  take(): Uint8Array | undefined {
    return this.#changed(this.#events.take())
  }

  end(): Uint8Array | undefined {
    return this.#changed(this.#events.end())
  }

  #changed(piece: Uint8Array | undefined): Uint8Array | undefined {
    if (piece === undefined) return undefined
    const lines = Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString().split('\n')
    const changed = lines.map((line) => (line.length > MAX_CHANGED ? line : this.#change(line)))
    return Buffer.from(changed.join('\n'))
  }
}
