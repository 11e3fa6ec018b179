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
    const changedBody = body.pipeThrough(piecesChanged(change, ends))
    return new Response(changedBody, { status, headers })
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

/** Changes each piece that is not too long, the others pass as they come; a piece ends where `endIn` finds it. */
function piecesChanged(
  change: (piece: string) => string,
  endIn: (chunk: Uint8Array, from: number) => number,
): TransformStream<Uint8Array, Uint8Array> {
  let parts: Uint8Array[] = []
  let bytes = 0
  let isLong = false
  const passOn = (controller: TransformStreamDefaultController<Uint8Array>, written: Uint8Array[]) => {
    for (const one of written) controller.enqueue(one)
    parts = []
    bytes = 0
  }
  const end = (controller: TransformStreamDefaultController<Uint8Array>) => {
    passOn(controller, bytes === 0 ? [] : [Buffer.from(change(Buffer.concat(parts).toString()))])
    isLong = false
  }
  return new TransformStream({
    transform(chunk, controller) {
      for (let from = 0; from < chunk.length; ) {
        const found = endIn(chunk, from)
        const until = found === -1 ? chunk.length : found + 1
        parts.push(chunk.subarray(from, until))
        bytes += until - from
        from = until
        isLong ||= bytes > MAX_BYTES
        if (isLong) passOn(controller, parts)
        if (found !== -1) end(controller)
      }
    },
    flush: end,
  })
}

const never = (): number => -1

/** An event stream's lines may end with either. */
function endOfLine(chunk: Uint8Array, from: number): number {
  const ends = LINE_ENDS.map((byte) => chunk.indexOf(byte, from)).filter((at) => at !== -1)
  return ends.length === 0 ? -1 : Math.min(...ends)
}
