import { randomUUID } from 'node:crypto'
import { hasExactNumber, isExactNumber, mayBeInexact } from '@parley/shared/exact-number'
import { exactOrUndefined } from '@parley/shared/parse-json'

/** Longer texts have no numbers that anybody uses: such a turn or result is refused. */
const MAX_BYTES = 256 * 1024
const LINE_ENDS = [0x0a, 0x0d]

/** Stands before a number in a text; nobody else can guess it. */
const MARK = randomUUID()
const MARKED = new RegExp(`"${MARK} ([-+.\\deE]+)"`, 'g')

/**
 * A fetch whose JSON, and each line of whose event streams, is read by a library that knows doubles alone: numbers under
 * one of the `keys` that doubles print as other ones are texts in it, of which `withItsNumbers` makes numbers again.
 */
export function retainingNumbers(fetch: typeof globalThis.fetch, keys: readonly string[]): typeof fetch {
  return changingJson(fetch, (piece) => changed(piece, keys))
}

/** A fetch whose JSON, and each line of whose event streams, is changed before anybody reads it, where it is not too long. */
export function changingJson(
  fetch: typeof globalThis.fetch,
  change: (piece: string) => string,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { status, headers, body } = response
    const type = headers.get('content-type') ?? ''
    if (body === null || !/json|event-stream/.test(type)) return response
    const ends = type.includes('event-stream') ? endOfLine : never
    return new Response(changedBody(body, new ChangingPieces(change, ends)), { status, headers })
  }
}

/** A JSON text with the numbers as they were written. */
export const withItsNumbers = (text: string): string =>
  text.includes(MARK) ? text.replaceAll(MARKED, '$1') : text

function changed(piece: string, keys: readonly string[]): string {
  if (!mayBeInexact(piece)) return piece
  const start = piece.search(/[{[]/)
  const parsed = start === -1 ? undefined : exactOrUndefined(piece.slice(start))
  if (!hasExactNumber(parsed)) return piece
  // What ends a line, too, has to stay.
  const end = piece.trimEnd().length
  return piece.slice(0, start) + JSON.stringify(marked(parsed, keys, false)) + piece.slice(end)
}

function marked(value: unknown, keys: readonly string[], isInside: boolean): unknown {
  if (isExactNumber(value)) return isInside ? `${MARK} ${value.rawJSON}` : Number(value.rawJSON)
  if (Array.isArray(value)) return value.map((one) => marked(one, keys, isInside))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, marked(one, keys, isInside || keys.includes(key))]),
  )
}

/** The body as it is changed, read as fast as somebody reads this. */
function changedBody(body: ReadableStream<Uint8Array>, pieces: ChangingPieces): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (let ready: Uint8Array[] = []; ready.length === 0; ) {
          const { done, value } = await reader.read()
          ready = done ? pieces.end() : pieces.add(value)
          for (const one of ready) controller.enqueue(one)
          if (done) return controller.close()
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** Changes each piece that is not too long, the others pass as they come; a piece ends where `endIn` finds it. */
class ChangingPieces {
  readonly #change: (piece: string) => string
  readonly #endIn: (chunk: Uint8Array, from: number) => number
  #parts: Uint8Array[] = []
  #bytes = 0
  #isLong = false

  constructor(change: (piece: string) => string, endIn: (chunk: Uint8Array, from: number) => number) {
    this.#change = change
    this.#endIn = endIn
  }

  /** What is ready with it. */
  add(chunk: Uint8Array): Uint8Array[] {
    const ready: Uint8Array[] = []
    for (let from = 0; from < chunk.length; ) {
      const found = this.#endIn(chunk, from)
      const until = found === -1 ? chunk.length : found + 1
      this.#parts.push(chunk.subarray(from, until))
      this.#bytes += until - from
      from = until
      this.#isLong ||= this.#bytes > MAX_BYTES
      if (this.#isLong) ready.push(...this.#takeParts())
      if (found !== -1) ready.push(...this.end())
    }
    return ready
  }

  /** What is left. */
  end(): Uint8Array[] {
    this.#isLong = false
    const piece = Buffer.concat(this.#takeParts())
    return piece.length === 0 ? [] : [Buffer.from(this.#change(piece.toString()))]
  }

  #takeParts(): Uint8Array[] {
    const parts = this.#parts
    this.#parts = []
    this.#bytes = 0
    return parts
  }
}

const never = (): number => -1

/** An event stream's lines may end with either. */
function endOfLine(chunk: Uint8Array, from: number): number {
  const ends = LINE_ENDS.map((byte) => chunk.indexOf(byte, from)).filter((at) => at !== -1)
  return ends.length === 0 ? -1 : Math.min(...ends)
}
