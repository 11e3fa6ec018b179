import type { IncomingMessage } from 'node:http'
import { CallError } from './call-error.ts'
import { createGuardedAgents, type GuardedAgents, type GuardedAgentsOptions } from './guarded-agents.ts'

// Responses with these statuses have no body (Fetch standard); a body given with one of them is an error.
const NULL_BODY_STATUSES = [204, 205, 304]

/** A function like the global `fetch`, for libraries that take one. */
export interface GuardedFetch {
  fetch: typeof fetch
  close(): void
}

/**
 * A `fetch` under the rules of {@link createGuardedAgents}: private targets are refused on every connection, redirects
 * are not followed but returned, and a response may have `maxBytes`. Its body is read as it comes. The deadline is the
 * caller's `signal`, for the body too. Rejects, and ends the body, with `CallError` or the signal's reason.
 */
export function createGuardedFetch(options: GuardedAgentsOptions & { maxBytes: number }): GuardedFetch {
  const agents = createGuardedAgents(options)
  const { maxBytes } = options
  return {
    async fetch(input, { signal, ...init } = {}) {
      // As `Request` reads them: defaults, the content type of a form, and the bytes of any kind of body.
      const request = new Request(input, init)
      const { method, url } = request
      const body = init.body == null ? undefined : Buffer.from(await request.arrayBuffer())
      const headers = Object.fromEntries(request.headers)
      if (body !== undefined) headers['content-length'] = String(body.length)
      return exchange({ method, url, headers, body, signal: signal ?? undefined, maxBytes }, agents)
    },
    close: agents.close,
  }
}

interface Exchange {
  method: string
  url: string
  headers: Record<string, string>
  body: Buffer | undefined
  signal: AbortSignal | undefined
  maxBytes: number
}

function exchange(call: Exchange, agents: GuardedAgents): Promise<Response> {
  const { method, url, headers, body, signal, maxBytes } = call
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    let end: (error: unknown) => void = reject
    const fail = (error: unknown) => {
      signal?.removeEventListener('abort', abort)
      end(error)
    }
    const abort = () => {
      fail(signal?.reason)
      outgoing?.destroy()
    }
    const outgoing = agents.request({ method, url, headers, fail })
    if (outgoing === undefined) return
    signal?.addEventListener('abort', abort, { once: true })
    outgoing.on('response', (incoming) => {
      const done = () => signal?.removeEventListener('abort', abort)
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          end = (error) => controller.error(error)
          incoming.on('end', () => {
            done()
            controller.close()
          })
          forward(incoming, controller, maxBytes)
        },
        pull: () => void incoming.resume(),
        cancel() {
          end = () => {}
          done()
          incoming.destroy()
        },
      })
      resolve(responseOf(incoming, stream))
    })
    outgoing.end(body)
  })
}

/** Hands chunks on, stops reading while nobody takes them, and gives up after `maxBytes`. */
function forward(
  incoming: IncomingMessage,
  controller: ReadableStreamDefaultController<Uint8Array>,
  maxBytes: number,
): void {
  let size = 0
  incoming.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxBytes)
      return void incoming.destroy(new CallError('answer_too_large', undefined, incoming.statusCode))
    controller.enqueue(chunk)
    if ((controller.desiredSize ?? 0) <= 0) incoming.pause()
  })
}

function responseOf(incoming: IncomingMessage, stream: ReadableStream<Uint8Array>): Response {
  const status = incoming.statusCode ?? 0
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  if (!NULL_BODY_STATUSES.includes(status)) return new Response(stream, { status, headers })
  incoming.resume()
  return new Response(null, { status, headers })
}
