import { GrowingBuffer } from './growing-buffer.ts'
import type { ResponseCount } from './response-bounds.ts'

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const BOM = Buffer.from('\ufeff')
const DATA = Buffer.from('data')
const LINE_END = Buffer.from('\n')
/** So many bytes of events are passed on together. */
const BATCH_BYTES = 4 * 1024

/**
 * Server-sent events as they are passed on: whole, with line feeds alone, and without comments and events that say
 * nothing. Parsers search what they are given again for each line and each piece, so that a stream of line ends, or one
 * event in a thousand pieces, would take them seconds; of this they take each byte once.
 */
export class EventSplitter {
  readonly #count: ResponseCount
  readonly #line = new GrowingBuffer()
  readonly #event = new GrowingBuffer()
  readonly #whole = new GrowingBuffer()
  #chunk: Uint8Array = new Uint8Array()
  #at = 0
  #isAfterCr = false
  #isFirstLine = true
  #hasData = false

  constructor(count: ResponseCount) {
    this.#count = count
  }

  add(chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
  }

  /** Whole events of what was added, about 4 KiB of them; undefined when there are no more. Throws over a bound. */
  take(): Buffer | undefined {
    while (this.#at < this.#chunk.length && this.#whole.length < BATCH_BYTES) this.#readLine()
    return this.#whole.length === 0 ? undefined : this.#whole.take()
  }

  /** What the end of the stream has cut off. */
  end(): Buffer | undefined {
    if (this.#line.length > 0) this.#lineRead(this.#line.view())
    return this.#event.length === 0 ? undefined : this.#event.take()
  }

  #readLine(): void {
    const chunk = this.#chunk
    if (this.#isAfterCr && chunk[this.#at] === LF) this.#at++
    this.#isAfterCr = false
    const start = this.#at
    let end = start
    while (end < chunk.length && chunk[end] !== LF && chunk[end] !== CR) end++
    const piece = chunk.subarray(start, end)
    this.#count.eventBytes(this.#event.length + this.#line.length + piece.length)
    this.#at = end + 1
    const isLine = end < chunk.length
    this.#isAfterCr = isLine && chunk[end] === CR
    if (isLine && this.#line.length === 0) this.#lineRead(piece)
    else this.#line.append(piece)
    if (!isLine || this.#line.length === 0) return
    this.#lineRead(this.#line.view())
    this.#line.clear()
  }

  #lineRead(read: Uint8Array): void {
    const line = this.#isFirstLine && beginsWith(read, BOM) ? read.subarray(BOM.length) : read
    this.#isFirstLine = false
    this.#count.line()
    if (line.length === 0) this.#endEvent()
    else if (line[0] !== COLON) this.#addToEvent(line)
  }

  #addToEvent(line: Uint8Array): void {
    if (beginsWith(line, DATA)) {
      this.#hasData = true
      this.#count.json(line.subarray(DATA.length))
    }
    this.#event.append(line)
    this.#event.append(LINE_END)
  }

  #endEvent(): void {
    if (this.#hasData) {
      this.#count.event()
      this.#count.endOfJson()
      this.#whole.append(this.#event.view())
      this.#whole.append(LINE_END)
    }
    this.#hasData = false
    this.#event.clear()
  }
}

function beginsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return beginning.every((byte, at) => bytes[at] === byte)
}
