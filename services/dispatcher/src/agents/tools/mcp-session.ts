import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { JsonSchemaValidatorResult } from '@modelcontextprotocol/sdk/validation/types.js'
import { type BodyForm, boundedResponse } from '../../channels/http/bounded-response.ts'
import { type ResponseBounds, ResponseCount } from '../../channels/http/response-bounds.ts'
import { retainingNumbers } from '../exact-responses.ts'

/** Of all answers of a session together. */
const BOUNDS: ResponseBounds = {
  bytes: 2 * 1024 * 1024,
  lines: 32 * 1024,
  events: 2_000,
  eventBytes: 2 * 1024 * 1024,
  nodes: 60_000,
  outerNodes: 1_000,
  depth: 64,
}
const MAX_REQUESTS = 20
const END_MS = 2_000

/** A server, and what its requests carry besides the protocol's own headers. */
export interface McpTarget {
  url: string
  headers: Record<string, string>
}

/**
 * Connects to a server over Streamable HTTP, has `work` done, and ends the session, all within `timeoutMs`. A server
 * may answer with 2 MiB and cause 20 requests; it gets no stream of its own, and redirects end the session.
 */
export async function withMcpSession<T>(
  options: { fetch: typeof fetch; target: McpTarget; timeoutMs: number },
  work: (client: Client, request: { signal: AbortSignal; timeout: number }) => Promise<T>,
): Promise<T> {
  const { target, timeoutMs } = options
  // Only processes that run agents load it.
  const [sdk, http] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ])
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(new Error('no answer in time')), timeoutMs)
  const transport = new http.StreamableHTTPClientTransport(new URL(target.url), {
    fetch: retainingNumbers(boundedFetch(options.fetch, end), ['structuredContent', 'inputSchema']),
    requestInit: { headers: target.headers },
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
  })
  // Its default makes code of the schemas that servers send.
  const jsonSchemaValidator = { getValidator: accepting }
  const client = new sdk.Client({ name: 'parley', version: '1' }, { jsonSchemaValidator })
  const request = { signal: end.signal, timeout: timeoutMs }
  try {
    return await untilAborted(end.signal, async () => {
      // The type of its session id does not go with exactOptionalPropertyTypes.
      await client.connect(transport as Parameters<Client['connect']>[0], request)
      return work(client, request)
    })
  } finally {
    clearTimeout(timer)
    void transport
      .terminateSession()
      .catch(() => undefined)
      .finally(() => client.close())
  }
}

/** Takes everything for valid, so the type is whatever the SDK asks for. */
const accepting =
  <T>() =>
  (data: unknown): JsonSchemaValidatorResult<T> => ({ valid: true, data: data as T, errorMessage: undefined })

/** Rejects with the reason once the signal is aborted, whatever `work` does then. */
function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work().then(resolve, reject)
  })
}

export class RedirectRefused extends Error {}

/** The requests of one session: counted, without redirects, their responses bounded together. */
function boundedFetch(fetch: typeof globalThis.fetch, end: AbortController): typeof globalThis.fetch {
  let requests = 0
  const count = new ResponseCount(BOUNDS)
  return async (input, init = {}) => {
    // A server without a stream of its own answers so.
    if (init.method === 'GET') return new Response(null, { status: 405 })
    if (++requests > MAX_REQUESTS) throw new Error(`more than ${MAX_REQUESTS} requests`)
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
    return boundedResponse(response, { form: formOf(response), count, exceeded })
  }
}

/** As the SDK reads it: by the media type, without its parameters. */
function formOf({ headers }: Response): BodyForm {
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  return type.trim().toLowerCase() === 'text/event-stream' ? 'events' : 'text'
}
