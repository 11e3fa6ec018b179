import { type BodyReader, type Bounding, boundedBody } from './bounded-response.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import {
  createGuardedAgent,
  type GuardedAgent,
  type GuardedAgentOptions,
  type GuardedRequest,
  type ResponseHeaders,
} from './guarded-agent.ts'
import { responseMemory } from './response-memory.ts'

// Responses with these statuses have no body (Fetch standard); a body given with one of them is an error.
const NULL_BODY_STATUSES = [204, 205, 304]

/** So much of a response waits for its reader; then its connection is not read. */
const MAX_UNREAD_BYTES = 64 * 1024

/** A function like the global `fetch`, for libraries that take one. */
export interface GuardedFetch {
  fetch: BoundingFetch
  close(): void
}

/** A fetch whose response has the body that `bounding` says, which costs less than to bound the response. */
export type BoundingFetch = (
  input: Parameters<typeof fetch>[0],
  init?: RequestInit & { bounding?: BoundingOf },
) => Promise<Response>
type BoundingOf = (isOk: boolean) => Bounding

/**
 * A `fetch` under the rules of {@link createGuardedAgent}: private targets are refused on every connection, redirects
 * are not followed but returned, and a response may have `maxBytes`. Its body is read as it comes. The deadline is the
 * caller's `signal`, for the body too. Rejects, and ends the body, with `CallError` or the signal's reason.
 */
export function createGuardedFetch(options: GuardedAgentOptions & { maxBytes: number }): GuardedFetch {
  const agent = createGuardedAgent(options)
  const { maxBytes } = options
  return {
    async fetch(input, { signal, bounding, ...init } = {}) {
      const request = textRequest(input, init) ?? (await anyRequest(input, init))
      return exchange({ ...request, signal: signal ?? undefined, maxBytes, bounding }, agent)
    },
    close: agent.close,
  }
}

type Requested = Pick<Call, 'method' | 'url' | 'headers' | 'body'>

/** As `Request` reads it: defaults, the content type of a form, and the bytes of any kind of body. */
async function anyRequest(input: Parameters<typeof fetch>[0], init: RequestInit): Promise<Requested> {
  const request = new Request(input, init)
  const { method, url, headers } = request
  const body = init.body == null ? undefined : Buffer.from(await request.arrayBuffer())
  return { method, url, headers: Object.fromEntries(headers), body }
}

/** Returns the request for a posted text of a named type, as models are called: a `Request` takes as long as sending. */
function textRequest(input: Parameters<typeof fetch>[0], init: RequestInit): Requested | undefined {
  const { method, body } = init
  if (typeof input !== 'string' || method !== 'POST' || typeof body !== 'string') return undefined
  const headers = plainHeaders(init.headers)
  return 'content-type' in headers ? { method, url: input, headers, body } : undefined
}

/** Headers as an object; one that has them in lower case, as the AI SDK's, is returned as it is. */
function plainHeaders(headers: RequestInit['headers']): Record<string, string> {
  const isPlain =
    Object.getPrototypeOf(headers ?? []) === Object.prototype && 'content-type' in (headers ?? {})
  return isPlain ? (headers as Record<string, string>) : Object.fromEntries(new Headers(headers))
}

interface Call extends GuardedRequest {
  signal: AbortSignal | undefined
  bounding: BoundingOf | undefined
}

function exchange({ signal, bounding, ...request }: Call, agent: GuardedAgent): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const fail = (error: unknown) => {
      over()
      reject(error)
      body.fail(error)
    }
    const breakOff = (error: unknown) => {
      fail(error)
      underway.breakOff(error)
    }
    const abort = () => breakOff(signal?.reason)
    const share = responseMemory.share(breakOff)
    const over = () => {
      share.close()
      signal?.removeEventListener('abort', abort)
    }
    const body = new IncomingBody({
      askedFor() {
        share.use(0)
        underway.resume()
      },
      over,
      cancelled() {
        over()
        underway.breakOff(new Error('nobody reads the response'))
      },
    })
    signal?.addEventListener('abort', abort, { once: true })
    const underway = agent.send(request, {
      started(status, headers) {
        const init = { status, headers: headersOf(headers) }
        if (NULL_BODY_STATUSES.includes(status)) return resolve(new Response(null, init))
        const bounds = bounding?.(status >= 200 && status < 300)
        resolve(new Response(bounds === undefined ? streamOf(body) : boundedBody(body, bounds), init))
      },
      received(chunk) {
        body.add(chunk)
        share.use(body.allocated)
        if (body.unread >= MAX_UNREAD_BYTES) underway.pause()
      },
      ended: () => body.end(),
      failed: fail,
    })
  })
}

type Read = Awaited<ReturnType<BodyReader['read']>>

/** A body while it comes: what nobody has asked for yet is gathered, however small its pieces are. */
class IncomingBody implements BodyReader {
  readonly #owner: { askedFor(): void; over(): void; cancelled(): void }
  readonly #gathered = new GrowingBuffer()
  readonly #end = Promise.withResolvers<void>()
  #asked: PromiseWithResolvers<Read> | undefined
  #hasEnded = false
  #failure: { error: unknown } | undefined

  constructor(owner: { askedFor(): void; over(): void; cancelled(): void }) {
    this.#owner = owner
    // Most who read it hear of a failure by what they read.
    this.#end.promise.catch(() => undefined)
  }

  get closed(): Promise<void> {
    return this.#end.promise
  }

  /** In bytes, what waits for its reader, and what that takes of memory. */
  get unread(): number {
    return this.#gathered.length
  }

  get allocated(): number {
    return this.#gathered.allocated
  }

  async read(): Promise<Read> {
    if (this.#failure !== undefined) throw this.#failure.error
    const isWaiting = this.#gathered.length > 0
    if (this.#hasEnded && !isWaiting) {
      this.#close()
      return { done: true }
    }
    const read = isWaiting ? { done: false, value: this.#gathered.take() } : this.#next()
    this.#owner.askedFor()
    return read
  }

  async cancel(): Promise<void> {
    this.#owner.cancelled()
  }

  add(chunk: Uint8Array): void {
    if (this.#asked === undefined) this.#gathered.append(chunk)
    else this.#asked.resolve({ done: false, value: chunk })
    this.#asked = undefined
  }

  end(): void {
    this.#hasEnded = true
    if (this.#gathered.length > 0) return
    this.#close()
    this.#asked?.resolve({ done: true })
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#asked?.reject(error)
    this.#end.reject(error)
  }

  #next(): Promise<Read> {
    this.#asked = Promise.withResolvers()
    return this.#asked.promise
  }

  #close(): void {
    this.#owner.over()
    this.#end.resolve()
  }
}

function streamOf(body: BodyReader): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => void body.closed.catch((error: unknown) => controller.error(error)),
      async pull(controller) {
        const { value } = await body.read()
        if (value === undefined) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => body.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function headersOf(incoming: ResponseHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  return headers
}
