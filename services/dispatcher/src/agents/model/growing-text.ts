import { GrowingBuffer } from '../../channels/http/growing-buffer.ts'

/**
 * A text that comes in pieces, as one: strings that are put together of thousands of others take many times what they say.
 * In UTF-16, since a piece may end within a character. `maxLength` is what they are together at most.
 */
export class GrowingText {
  readonly #bytes: GrowingBuffer

  constructor(maxLength: number) {
    this.#bytes = new GrowingBuffer(2 * maxLength)
  }

  /** In characters, as of a string. */
  get length(): number {
    return this.#bytes.length / 2
  }

  /** In bytes, what it takes of memory. */
  get allocated(): number {
    return this.#bytes.allocated
  }

  append(piece: string): void {
    this.#bytes.append(Buffer.from(piece, 'utf16le'))
  }

  toString(): string {
    return this.#bytes.view().toString('utf16le')
  }
}
