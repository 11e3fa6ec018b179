import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { JsonSchemaValidatorResult } from '@modelcontextprotocol/sdk/validation/types.js'
import type { JsonObject } from '@parley/shared/json-object'
import { type ResponseBounds, ResponseCount } from '../../channels/http/response-bounds.ts'
import { untilAborted } from '../../channels/http/until-aborted.ts'
import { type Bounded, boundedFetch, currentCall, END_MS, formOf, MAX_REQUESTS, ofCall } from './mcp-fetch.ts'
import { type CallResult, callResult } from './mcp-results.ts'

/** Of the answers of a session that lists, together; of each answer of a session that calls. */
const BOUNDS: ResponseBounds = {
  bytes: 2 * 1024 * 1024,
  lines: 32 * 1024,
  events: 5_000,
  eventBytes: 2 * 1024 * 1024,
  nodes: 60_000,
  outerNodes: 1_000,
  depth: 64,
}
const CONNECT_MS = 15_000
const PROBE_MS = 2_000
const RESUME = { maxRetries: 3, initialReconnectionDelay: 500, maxReconnectionDelay: 5_000 }

/** A server, and what its requests carry besides the protocol's own headers. */
export interface McpTarget {
  url: string
  headers: Record<string, string>
}

interface Reached {
  fetch: typeof fetch
  target: McpTarget
}

/**
 * Connects to a server over Streamable HTTP, has `work` done, and ends the session, all within `timeoutMs`. A server
 * may answer with 2 MiB and cause 20 requests; it gets no stream of its own, and redirects end the session.
 */
export async function withMcpSession<T>(
  options: Reached & { timeoutMs: number },
  work: (client: Client, request: { signal: AbortSignal; timeout: number }) => Promise<T>,
): Promise<T> {
  const { timeoutMs } = options
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(new Error('no answer in time')), timeoutMs)
  const count = new ResponseCount(BOUNDS)
  const connection = await prepare(options, { end, requests: MAX_REQUESTS, countOf: () => count })
  const request = { signal: end.signal, timeout: timeoutMs }
  try {
    return await untilAborted(end.signal, async () => {
      await connection.open(timeoutMs).catch(async (error) => {
        throw (await speaksHttpAndSse(options, error)) ? new Error(REPLACED, { cause: error }) : error
      })
      return work(connection.client, request)
    })
  } finally {
    clearTimeout(timer)
    connection.close()
  }
}

/** How long a call may take, in milliseconds. */
interface McpCallLimits {
  /** Since it began, or since the server last told of its progress. */
  timeoutMs: number
  /** In all, whatever the server tells. */
  totalMs: number
  /** Once aborted, progress gives it no more time. */
  ended?: AbortSignal | undefined
}

/** It was not begun: its session could not be had, or the server refused it. */
export class NotBegun extends Error {}

/**
 * The calls of one turn at a server, in one session, which begins with the first of them. Where the server has lost the
 * session, another one begins, and what the server refused for that is called again.
 */
export class McpCalls {
  readonly #reached: Reached
  #connection: Promise<Connection> | undefined

  constructor(reached: Reached) {
    this.#reached = reached
  }

  /**
   * Calls a tool of the server with these headers, among them its idempotency key. Rejects with {@link NotBegun} where it certainly did
   * not run.
   */
  async call(
    called: { name: string; args: JsonObject; headers: Record<string, string> },
    limits: McpCallLimits,
  ): Promise<CallResult> {
    const clock = new CallClock(limits)
    try {
      for (let isAgain = false; ; isAgain = true) {
        this.#connection ??= currentCall.run({ headers: called.headers }, () => connected(this.#reached))
        const connecting = this.#connection
        const connection = await this.#opened(connecting, clock.signal)
        try {
          return await requested(connection, { ...called, clock, totalMs: limits.totalMs })
        } catch (error) {
          if (!connection.isLost(error)) throw error
          if (this.#connection === connecting) this.close()
          if (isAgain) throw new NotBegun('the session was lost', { cause: error })
        }
      }
    } finally {
      clock.stop()
    }
  }

  /** Ends the session, where there is one. Waits for nothing. */
  close(): void {
    void this.#connection?.then((connection) => connection.close()).catch(() => undefined)
    this.#connection = undefined
  }

  async #opened(connecting: Promise<Connection>, signal: AbortSignal): Promise<Connection> {
    try {
      return await untilAborted(signal, () => connecting)
    } catch (error) {
      if (this.#connection === connecting) this.close()
      throw new NotBegun('no session', { cause: error })
    }
  }
}

async function connected(reached: Reached): Promise<Connection> {
  const end = new AbortController()
  const countOf = () => new ResponseCount(BOUNDS)
  const connection = await prepare(reached, { end, requests: MAX_REQUESTS, countOf })
  try {
    await untilAborted(end.signal, () => connection.open(CONNECT_MS))
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

async function requested(
  connection: Connection,
  call: Parameters<McpCalls['call']>[0] & { clock: CallClock; totalMs: number },
): Promise<CallResult> {
  const { name, args, headers, clock, totalMs } = call
  connection.allow(MAX_REQUESTS)
  const request = { method: 'tools/call', params: { name, arguments: args } } as const
  const context = { headers, streamEnded: () => clock.abort(new Error('the server ended its answer early')) }
  const options = { signal: clock.signal, timeout: totalMs + END_MS, onprogress: () => clock.extend() }
  return untilAborted(AbortSignal.any([clock.signal, connection.ended]), () =>
    currentCall.run(context, () => connection.client.request(request, callResult, options)),
  )
}

/** The time of one call: it is over `timeoutMs` after it began or was last extended, and `totalMs` after it began. */
class CallClock {
  readonly #limits: McpCallLimits
  readonly #startedAt = performance.now()
  readonly #end = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(limits: McpCallLimits) {
    this.#limits = limits
    this.#start()
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  extend(): void {
    if (this.#limits.ended?.aborted || this.signal.aborted || this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#start()
  }

  abort(reason: Error): void {
    this.#end.abort(reason)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #start(): void {
    const { timeoutMs, totalMs } = this.#limits
    const left = this.#startedAt + totalMs - performance.now()
    this.#timer = setTimeout(() => this.abort(new Error('no answer in time')), Math.min(timeoutMs, left))
  }
}

/** A session of a client, which has to be opened. */
class Connection {
  readonly client: Client
  readonly #transport: StreamableHTTPClientTransport
  readonly #bounded: Bounded

  constructor(client: Client, transport: StreamableHTTPClientTransport, bounded: Bounded) {
    this.client = client
    this.#transport = transport
    this.#bounded = bounded
  }

  /** Aborts where the server did more than it may. */
  get ended(): AbortSignal {
    return this.#bounded.end.signal
  }

  open(timeout: number): Promise<void> {
    // The type of its session id does not go with exactOptionalPropertyTypes.
    const transport = this.#transport as Parameters<Client['connect']>[0]
    return this.client.connect(transport, { signal: this.ended, timeout })
  }

  allow(requests: number): void {
    this.#bounded.requests += requests
  }

  /**
   * Whether the server refused a request because it does not know the session any more: by 404 as the protocol says, or
   * by 400, as the servers do that were made after the SDK's examples.
   */
  isLost(error: unknown): boolean {
    const { code, message } = error as { code?: unknown; message?: unknown }
    if (this.#transport.sessionId === undefined) return false
    return code === 404 || (code === 400 && /session|initializ/i.test(String(message)))
  }

  close(): void {
    void this.#transport
      .terminateSession()
      .catch(() => undefined)
      .finally(() => this.client.close())
  }
}

async function prepare({ fetch, target }: Reached, bounded: Bounded): Promise<Connection> {
  // Only processes that run agents load it.
  const [sdk, http] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ])
  const transport = new http.StreamableHTTPClientTransport(new URL(target.url), {
    fetch: ofCall(boundedFetch(fetch, bounded)),
    requestInit: { headers: target.headers },
    reconnectionOptions: { ...RESUME, reconnectionDelayGrowFactor: 2 },
  })
  // Its default makes code of the schemas that servers send.
  const jsonSchemaValidator = { getValidator: accepting }
  const client = new sdk.Client({ name: 'parley', version: '1' }, { jsonSchemaValidator })
  return new Connection(client, transport, bounded)
}

/** Takes everything for valid, so the type is whatever the SDK asks for. */
const accepting =
  <T>() =>
  (data: unknown): JsonSchemaValidatorResult<T> => ({ valid: true, data: data as T, errorMessage: undefined })

const REPLACED =
  'It speaks HTTP with SSE (protocol 2024-11-05), which Streamable HTTP has replaced: give the URL of its Streamable HTTP, often /mcp.'
/** How a server answers that does not take a POST at its URL. */
const NO_POST = [400, 404, 405]

/** True if a server that refused to be connected speaks the protocol's earlier transport at its URL. */
async function speaksHttpAndSse({ fetch, target }: Reached, error: unknown): Promise<boolean> {
  if (!NO_POST.includes(Number((error as { code?: unknown }).code))) return false
  const headers = { ...target.headers, accept: 'text/event-stream' }
  const abort = new AbortController()
  const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(PROBE_MS)])
  try {
    const response = await fetch(target.url, { headers, redirect: 'manual', signal })
    const first = formOf(response) === 'events' ? await response.body?.getReader().read() : undefined
    return /^event: ?endpoint/m.test(Buffer.from(first?.value ?? []).toString('latin1'))
  } catch {
    return false
  } finally {
    abort.abort()
  }
}
