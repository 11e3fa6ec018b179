import { CallError } from './call-error.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import { type Change, ChangedEvents, ChangedText, type Pieces, TextPieces } from './pieces.ts'
import type { ResponseCount } from './response-bounds.ts'
import { responseMemory } from './response-memory.ts'

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
class EventSplitter implements Pieces {
  readonly #count: ResponseCount
  readonly #line = new GrowingBuffer()
  readonly #event = new GrowingBuffer()
  readonly #whole = new GrowingBuffer()
  #chunk: Uint8Array = new Uint8Array()
  #at = 0
  #isAfterCr = false
  #isFirstLine = true
  #hasData = false
  /** Bytes of the latest events, as which parsers have them until others come. */
  #passedOn = 0

  constructor(count: ResponseCount) {
    this.#count = count
  }

  add(chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
  }

  get bytesInUse(): number {
    return this.#line.allocated + this.#event.allocated + this.#whole.allocated + this.#passedOn
  }

  /** Whole events of what was added, about 4 KiB of them; undefined when there are no more. Throws over a bound. */
  take(): Buffer | undefined {
    while (this.#at < this.#chunk.length && this.#whole.length < BATCH_BYTES) this.#readLine()
    if (this.#whole.length === 0) return undefined
    this.#passedOn = this.#whole.length
    return this.#whole.take()
  }

  /** Returns the last event, which the end of the stream has cut off. */
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

/** So long, in milliseconds, may what foreign answers cause run before everything else of the process has its turn. */
const TURN_MS = 4

let endsAt = 0

const waiting: (() => void)[] = []

/** How a library reads an answer: as server-sent events, or as one text, which is JSON where it says something. */
export type BodyForm = 'events' | 'text'

export interface Bounding {
  form: BodyForm
  count: ResponseCount
  /** Makes what is read of what came; nothing unless said. */
  change?: Change | undefined
  /** Told of the error when a bound is exceeded, where whoever reads the body does not say so. */
  exceeded?: (error: CallError) => void
}

/**
 * The same response, whose body is counted before anybody parses it, passed on in pieces that any parser takes in linear
 * time, and read only as fast as the event loop has room for what that causes. Over a bound its body fails with
 * `answer_too_large`, and nothing more of it is read.
 */
export function boundedResponse(response: Response, bounding: Bounding): Response {
  const { body, status, headers } = response
  return body === null ? response : new Response(boundedBody(body.getReader(), bounding), { status, headers })
}

function piecesOf({ form, count, change }: Bounding): Pieces {
  if (form === 'events') {
    const events = new EventSplitter(count)
    return change === undefined ? events : new ChangedEvents(events, change)
  }
  const text = new TextPieces(count)
  return change === undefined ? text : new ChangedText(text, change)
}

/** A reader of a body: like the reader of a stream. */
export interface BodyReader {
  /** Settles when nothing more can be read. */
  readonly closed: Promise<unknown>
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(reason: unknown): Promise<void>
}

/** The body of a bounded response. */
export function boundedBody(reader: BodyReader, bounding: Bounding): ReadableStream<Uint8Array> {
  const { count, exceeded } = bounding
  const pieces = piecesOf(bounding)
  let controller: ReadableStreamDefaultController<Uint8Array>
  const fail = (error: unknown) => {
    share.close()
    controller.error(error)
    return reader.cancel(error)
  }
  const failOver = (error: CallError) => {
    exceeded?.(error)
    return fail(error)
  }
  const share = responseMemory.share((error) => void failOver(error).catch(() => undefined))
  reader.closed.then(share.close, share.close)
  const nextPiece = async (): Promise<{ piece: Uint8Array | undefined; isLast: boolean }> => {
    for (;;) {
      await turn()
      const piece = pieces.take()
      share.use(pieces.bytesInUse)
      if (piece !== undefined) return { piece, isLast: false }
      const { value } = await reader.read()
      if (value === undefined) {
        await turn()
        return { piece: pieces.end(), isLast: true }
      }
      count.bytes(value.length)
      pieces.add(value)
    }
  }
  return new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      async pull() {
        try {
          const { piece, isLast } = await nextPiece()
          if (piece !== undefined) controller.enqueue(piece)
          if (isLast) controller.close()
        } catch (error) {
          const isTooLarge = error instanceof CallError && error.failure === 'answer_too_large'
          await (isTooLarge ? failOver(error) : fail(error))
        }
      },
      cancel(reason) {
        share.close()
        return reader.cancel(reason)
      },
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  )
}

/**
 * Resolves when whoever works on a foreign answer may go on. All of them together have 4 ms of each turn of the event
 * loop, one after the other, whatever they do with what they were given: libraries that parse it can't be interrupted.
 */
function turn(): Promise<void> | undefined {
  if (performance.now() < endsAt && waiting.length === 0) return undefined
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(next)
  })
}

/** One of them in each turn: what it causes runs before the next `setImmediate`. */
function next(): void {
  endsAt = performance.now() + TURN_MS
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(next)
}

function beginsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return beginning.every((byte, at) => bytes[at] === byte)
}
