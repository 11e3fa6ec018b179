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
  fetch: typeof fetch
  close(): void
}

/**
 * A `fetch` under the rules of {@link createGuardedAgent}: private targets are refused on every connection, redirects
 * are not followed but returned, and a response may have `maxBytes`. Its body is read as it comes. The deadline is the
 * caller's `signal`, for the body too. Rejects, and ends the body, with `CallError` or the signal's reason.
 */
export function createGuardedFetch(options: GuardedAgentOptions & { maxBytes: number }): GuardedFetch {
  const agent = createGuardedAgent(options)
  const { maxBytes } = options
  return {
    async fetch(input, { signal, ...init } = {}) {
      const request = textRequest(input, init) ?? (await anyRequest(input, init))
      return exchange({ ...request, signal: signal ?? undefined, maxBytes }, agent)
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

/** What posts a text of a type that it names, as models are asked: a `Request` of it takes as long as sending it. */
function textRequest(input: Parameters<typeof fetch>[0], init: RequestInit): Requested | undefined {
  const { method, body } = init
  if (typeof input !== 'string' || method !== 'POST' || typeof body !== 'string') return undefined
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) return undefined
  return { method, url: input, headers: Object.fromEntries(headers), body: Buffer.from(body) }
}

interface Call extends GuardedRequest {
  signal: AbortSignal | undefined
}

function exchange(call: Call, agent: GuardedAgent): Promise<Response> {
  const { signal } = call
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    let fail: (error: unknown) => void = reject
    let body: undefined | ReadableStreamDefaultController<Uint8Array>
    // What came while nobody asked for it, however small its pieces were.
    const unread = new GrowingBuffer()
    let isAskedFor = false
    let hasEnded = false
    const forget = () => {
      fail = () => {}
      body = undefined
    }
    const breakOff = (error: unknown) => {
      fail(error)
      forget()
      over()
      underway.breakOff(error)
    }
    const abort = () => breakOff(signal?.reason)
    const share = responseMemory.share(breakOff)
    const over = () => {
      share.close()
      signal?.removeEventListener('abort', abort)
    }
    const end = () => {
      over()
      body?.close()
    }
    signal?.addEventListener('abort', abort, { once: true })
    const underway = agent.send(call, {
      started(status, headers) {
        const init = { status, headers: headersOf(headers) }
        if (NULL_BODY_STATUSES.includes(status)) return resolve(new Response(null, init))
        const stream = new ReadableStream<Uint8Array>(
          {
            start(controller) {
              body = controller
              fail = (error) => controller.error(error)
            },
            pull(controller) {
              if (unread.length > 0) controller.enqueue(unread.take())
              else if (hasEnded) end()
              else isAskedFor = true
              share.use(0)
              underway.resume()
            },
            cancel() {
              forget()
              over()
              underway.breakOff(new Error('nobody reads the response'))
            },
          },
          { highWaterMark: 0 },
        )
        resolve(new Response(stream, init))
      },
      received(chunk) {
        if (isAskedFor) {
          isAskedFor = false
          return body?.enqueue(chunk)
        }
        unread.append(chunk)
        share.use(unread.allocated)
        if (unread.length >= MAX_UNREAD_BYTES) underway.pause()
      },
      ended() {
        hasEnded = true
        if (unread.length === 0) end()
      },
      failed(error) {
        over()
        fail(error)
      },
    })
  })
}

function headersOf(incoming: ResponseHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  return headers
}
