import createClient, { type Client } from 'openapi-fetch'
import type { components, paths } from './api-types.ts'
import { followEvents, type ServerEvent } from './event-stream.ts'
import { refusalOf, succeeded } from './parley-error.ts'
import { type Fetch, repeatedFetch } from './repeated-fetch.ts'
import { createSession, type SessionOptions } from './session.ts'

export type { ServerEvent } from './event-stream.ts'
export type Schemas = components['schemas']
export type Message = Schemas['Message']
export type MessageSummary = Schemas['MessageSummary']
const POSTED_TO = '/api/hooks/whatsapp'
type NewMessage = paths[typeof POSTED_TO]['post']['requestBody']['content']['application/json']

export interface ParleyOptions extends SessionOptions {
  /** How long one attempt at a request may take, in milliseconds (15,000). */
  timeoutMs?: number
  /** How long a request is repeated while Parley can't be reached or is unavailable, in milliseconds (30,000); 0 for never. */
  repeatForMs?: number
  /** In place of the global one. */
  fetch?: (request: Request) => Promise<Response>
}

/** A message that was accepted: it is safe now. */
export interface SentMessage {
  /** Names it in the message log. */
  id: string
  /** True when it is the message that was accepted before under the same key. */
  isRepeat: boolean
  /** `unknown-channel` where no channel had its external id at that moment. */
  warning?: string
}

export interface StreamOptions {
  /** The id of the last event that was seen: the stream goes on after it. */
  lastEventId?: string
  signal?: AbortSignal
  /** Called whenever the stream has been opened: what happens from then on is in it. */
  onOpen?(): void
  /** Called with what failed before the stream is opened again. */
  onRetry?(error: unknown): void
}

/** A Parley gateway, as one caller. */
export interface Parley {
  /** Every operation by its path, as openapi-fetch has it: `api.GET('/rest/channels/{id}', …)`. */
  api: Client<paths>
  messages: {
    /** Posts a message, under a new `Idempotency-Key` where none is given, so that repeats are one message. */
    send(
      message: NewMessage,
      options?: { idempotencyKey?: string; signal?: AbortSignal },
    ): Promise<SentMessage>
    get(id: string): Promise<Message>
    /** Those that a query picks, the latest first, over all pages. */
    list(query?: QueryOf<'/rest/messages'>): AsyncGenerator<MessageSummary>
    replay(id: string): Promise<void>
  }
  /** The items of any list, over all its pages. */
  list<P extends ListPath>(path: P, query?: QueryOf<P>): AsyncGenerator<ItemOf<P>>
  /**
   * The server-sent events of a path, over reconnections, until `signal` or the consumer ends them. Opening it the first
   * time is tried for `repeatForMs`.
   */
  events(path: string, options?: StreamOptions): AsyncGenerator<ServerEvent>
}

const TIMEOUT_MS = 15_000
const REPEAT_FOR_MS = 30_000

/** A client of the gateway at `url`. Its methods throw a `ParleyError` with the problem where they are refused. */
export function createParley(options: ParleyOptions): Parley {
  const { url, timeoutMs = TIMEOUT_MS, repeatForMs = REPEAT_FOR_MS } = options
  const send = options.fetch ?? ((request: Request) => fetch(request))
  const repeated = repeatedFetch({ fetch: send, timeoutMs, repeatForMs })
  const authorized = withToken(options, repeated)
  const api = createClient<paths>({
    baseUrl: url.replace(/\/+$/, ''),
    fetch: (request) => authorized(request, repeated),
    // Lists in a query are separated by commas.
    querySerializer: { array: { style: 'form', explode: false } },
  })
  const list: Parley['list'] = (path, query) => listItems(api, path, query)
  return {
    api,
    list,
    messages: {
      async send(body, { idempotencyKey = crypto.randomUUID(), signal } = {}) {
        const call = api.POST(POSTED_TO, {
          body,
          headers: { 'idempotency-key': idempotencyKey },
          ...(signal && { signal }),
        })
        await succeeded(call)
        const { headers } = (await call).response
        const warning = headers.get('parley-warning')
        return {
          id: headers.get('x-message-id') ?? '',
          isRepeat: headers.get('idempotent-replayed') === 'true',
          ...(warning !== null && { warning }),
        }
      },
      get: (id) => succeeded(api.GET('/rest/messages/{id}', { params: { path: { id } } })),
      list: (query) => list('/rest/messages', query),
      async replay(id) {
        await succeeded(api.POST('/rest/messages/{id}/replay', { params: { path: { id } } }))
      },
    },
    events: (path, stream) =>
      followEvents({
        ...stream,
        ...{ openMs: timeoutMs, firstForMs: repeatForMs },
        open: async ({ headers, signal }) => {
          const request = new Request(new URL(path, url), {
            headers: { accept: 'text/event-stream', ...headers },
            signal,
          })
          return authorized(request, send)
        },
        refusalOf,
      }),
  }
}

/** Sends a request with the session's token, and once more with a new one where that is refused. */
function withToken(
  options: SessionOptions,
  repeated: Fetch,
): (request: Request, send: Fetch) => Promise<Response> {
  const session = createSession(options, repeated)
  return async (request, send) => {
    if (WITHOUT_TOKEN.includes(new URL(request.url).pathname)) return send(request)
    const token = await session.token()
    const again = request.clone()
    const response = await send(bearing(request, token))
    const renewed = response.status === 401 ? await session.renew(token) : undefined
    if (renewed === undefined) return response
    await response.body?.cancel()
    return send(bearing(again, renewed))
  }
}

/** Operations that callers without a session call. */
const WITHOUT_TOKEN = [
  ...['register', 'login', 'refresh', 'accept-invitation', 'forgot-password', 'reset-password'],
].map((name) => `/api/auth/${name}`)

function bearing(request: Request, token: string | undefined): Request {
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
  return request
}

interface Page {
  data: unknown[]
  next: string | null
}

type PageOf<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body extends Page } } } }
}
  ? Body
  : never

/** The paths that respond with pages, but for those with an id. */
type ListPath = {
  [P in keyof paths]: P extends `${string}{${string}` ? never : [PageOf<P>] extends [never] ? never : P
}[keyof paths]

type ItemOf<P extends ListPath> = PageOf<P>['data'][number]

/** The query of a list; `limit` is the size of a page. */
export type QueryOf<P extends ListPath> = paths[P] extends { get: { parameters: { query?: infer Query } } }
  ? Omit<NonNullable<Query>, 'after'>
  : never

/** The items of all pages of a list, each page read when it is come to. Throws a `ParleyError`. */
async function* listItems<P extends ListPath>(
  api: Client<paths>,
  path: P,
  query?: QueryOf<P>,
): AsyncGenerator<ItemOf<P>> {
  // TypeScript sees for each path what holds for all of them.
  const read = api.GET as (
    path: P,
    options: object,
  ) => Promise<{ data?: Page; error?: unknown; response: Response }>
  let after: string | null | undefined
  do {
    const page = await succeeded(read(path, { params: { query: { ...query, ...(after ? { after } : {}) } } }))
    yield* page.data as ItemOf<P>[]
    after = page.next
  } while (after !== null)
}
