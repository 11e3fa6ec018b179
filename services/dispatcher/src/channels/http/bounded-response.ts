import { CallError } from './call-error.ts'
import { turn } from './event-loop-turns.ts'
import { EventSplitter } from './event-splitter.ts'
import type { ResponseCount } from './response-bounds.ts'

/** How a library reads an answer: as server-sent events, or as one text, which is JSON where it says something. */
export type BodyForm = 'events' | 'text'

interface Bounding {
  form: BodyForm
  count: ResponseCount
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
  return body === null ? response : new Response(boundedBody(body, bounding), { status, headers })
}

/** What comes is given to `add`; what is ready of it is taken until there is no more. */
interface Pieces {
  add(chunk: Uint8Array): void
  take(): Uint8Array | undefined
  end(): Uint8Array | undefined
}

function boundedBody(
  body: ReadableStream<Uint8Array>,
  { form, count, exceeded }: Bounding,
): ReadableStream<Uint8Array> {
  const pieces: Pieces = form === 'events' ? new EventSplitter(count) : new TextPieces(count)
  const reader = body.getReader()
  const nextPiece = async (): Promise<{ piece: Uint8Array | undefined; isLast: boolean }> => {
    for (;;) {
      await turn()
      const piece = pieces.take()
      if (piece !== undefined) return { piece, isLast: false }
      const { done, value } = await reader.read()
      if (done) {
        await turn()
        return { piece: pieces.end(), isLast: true }
      }
      count.bytes(value.length)
      pieces.add(value)
    }
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { piece, isLast } = await nextPiece()
          if (piece !== undefined) controller.enqueue(piece)
          if (isLast) controller.close()
        } catch (error) {
          controller.error(error)
          if (error instanceof CallError && error.failure === 'answer_too_large') exceeded?.(error)
          await reader.cancel(error)
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  )
}

/** A text in the pieces in which it comes. */
class TextPieces implements Pieces {
  readonly #count: ResponseCount
  #piece: Uint8Array | undefined

  constructor(count: ResponseCount) {
    this.#count = count
  }

  add(chunk: Uint8Array): void {
    this.#count.json(chunk)
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
