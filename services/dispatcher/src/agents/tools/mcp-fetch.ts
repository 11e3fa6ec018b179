import { AsyncLocalStorage } from 'node:async_hooks'
import { type BodyForm, boundedResponse } from '../../channels/http/bounded-response.ts'
import type { ResponseCount } from '../../channels/http/response-bounds.ts'
import { retainingNumbers } from '../exact-responses.ts'

/** Of a session that lists, and for each call of one that calls. */
export const MAX_REQUESTS = 20
export const END_MS = 2_000
/** An answer that came with the end of its stream is read by then. */
const LAST_EVENT_MS = 250

/** The context of a request of the SDK, for the fetch below it. */
interface CallContext {
  headers: Record<string, string>
  /** The stream of its answer has ended, and can't be taken up again. */
  streamEnded?(): void
}

export const currentCall = new AsyncLocalStorage<CallContext>()

/** The limits of a session with its server. */
export interface Bounded {
  end: AbortController
  requests: number
  /** Returns a new counter for a response. */
  countOf(): ResponseCount
}

/** The requests of a call have its headers; the SDK waits on where an answer's stream ends without the answer. */
export function ofCall(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const call = init.method === 'POST' ? currentCall.getStore() : undefined
    if (call === undefined) return fetch(input, init)
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(call.headers)) headers.set(name, value)
    const response = await fetch(input, { ...init, headers })
    const { body, status } = response
    if (body === null || call.streamEnded === undefined || formOf(response) !== 'events') return response
    return new Response(noticingEnd(body, call.streamEnded), { status, headers: response.headers })
  }
}

/** As whole events come: what begins a line is a field. */
const EVENT_ID = /^id:/m

/** The same stream; `ended` is called soon after its end, unless one of its events has an id to go on from. */
function noticingEnd(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let isResumable = false
  const notice = () => {
    if (!isResumable) setTimeout(ended, LAST_EVENT_MS)
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) {
            controller.close()
            return notice()
          }
          isResumable ||= EVENT_ID.test(Buffer.from(value).toString('latin1'))
          controller.enqueue(value)
        } catch (error) {
          controller.error(error)
          notice()
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** The numbers in them are as servers write them. */
const EXACT = retainingNumbers(['structuredContent', 'inputSchema'])

export class RedirectRefused extends Error {}

/** The requests of one session: counted, without redirects, their responses bounded. */
export function boundedFetch(fetch: typeof globalThis.fetch, bounded: Bounded): typeof globalThis.fetch {
  const { end } = bounded
  return async (input, init = {}) => {
    // A server without a stream of its own answers so; only what broke off is taken up again.
    const isResumption = new Headers(init.headers).has('last-event-id')
    if (init.method === 'GET' && !isResumption) return new Response(null, { status: 405 })
    if (--bounded.requests < 0) throw new Error(`more than ${MAX_REQUESTS} requests`)
    const isEnd = init.method === 'DELETE'
    const signal = isEnd
      ? AbortSignal.timeout(END_MS)
      : AbortSignal.any([end.signal, ...(init.signal ? [init.signal] : [])])
    const response = await fetch(input, { ...init, redirect: 'manual', signal })
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel()
      throw new RedirectRefused('The server redirects, which is not followed.')
    }
    // The SDK drops what goes wrong while it reads events.
    const exceeded = (error: unknown) => end.abort(error)
    const form = formOf(response)
    return boundedResponse(response, { form, count: bounded.countOf(), change: EXACT, exceeded })
  }
}

/** As the SDK reads it: by the media type, without its parameters. */
export function formOf({ headers }: Response): BodyForm {
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  return type.trim().toLowerCase() === 'text/event-stream' ? 'events' : 'text'
}
