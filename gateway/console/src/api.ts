import { createParley, type Parley, type ParleyOptions } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { dropDrafts } from './drafts.ts'
import { currentLanguage } from './language.ts'
import { oneAtATime, untilLeft } from './one-at-a-time.ts'
import { account, createCookieSession, type Refresh, session } from './session.ts'
import { createStore } from './store.ts'
import { fetchWithProgress, type OnProgress } from './upload.ts'

export interface Page<T> {
  data: T[]
  next: string | null
}

type Query = Record<string, string | number | boolean | undefined>

interface CallOptions {
  query?: Query
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** For what an assistant works on: five minutes in place of half a minute. */
  patient?: boolean
}

const TIMEOUT_MS = 30_000
const PATIENT_MS = 320_000
const UPLOAD_MS = 180_000
/** So short that a list which asks again anyway does not wait for it. */
const REPEAT_MS = 2_000
const STREAM = '/rest/events'
/** Longer than it is until a page that needs something unavailable asks for it again. */
const LAPSE_MS = 5_000
const UNAVAILABLE = new Set([502, 503, 504])

/** Names of unreachable things: `gateway`, `events`, or the collections whose service is unavailable. */
export const unreachable = createStore<ReadonlySet<string>>(new Set())

/** Numbers the openings of the event stream, 0 while it is closed: what was loaded during another may have missed something. */
export const streamOpening = createStore(0)

/** The event stream is open from here on, with a gap to what it said before. */
export function beginOpening(): void {
  streamOpening.set(++openings)
}
let openings = 0

/** Tabs share the cookie: one that a tab gets back must not be replaced by an older one that another tab gets later. */
const refresh: Refresh = async () => {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const request = new Request('/api/auth/refresh', { method: 'POST', signal })
    const response = await oneAtATime('refresh', signal, () => reach(request))
    if (response.ok) return (await response.json()) as { accessToken: string }
    return response.status < 500 && response.status !== 429 ? 'ended' : 'unavailable'
  } catch {
    return 'unavailable'
  }
}
const cookieSession = createCookieSession(refresh)
export const { resume } = cookieSession

const options: ParleyOptions = {
  url: location.origin,
  tokens: cookieSession,
  timeoutMs: TIMEOUT_MS,
  repeatForMs: REPEAT_MS,
  fetch: (request) => reach(request),
}
/** The gateway as whoever is signed in. */
export const parley = createParley(options)
/** The same for what takes long. */
export const patient = createParley({ ...options, timeoutMs: PATIENT_MS })

/** Calls the API by a path and returns the JSON of the response. Throws a `ParleyError`, or `TypeError` without a response. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  return (await request(method, path, options)).data as T
}

/** The same with the `ETag` of the version that is returned, where it has one. */
export async function callTagged<T>(
  method: string,
  path: string,
  options: CallOptions,
): Promise<{ data: T; etag: string | undefined }> {
  const { data, response } = await request(method, path, options)
  return { data: data as T, etag: response.headers.get('etag') ?? undefined }
}

/** Reads what is no JSON. */
export async function callForBlob(path: string): Promise<Blob> {
  return (await request('GET', path, { parseAs: 'blob' })).data as Blob
}

interface Upload {
  file: Blob
  contentType: string
  query?: Query
  signal?: AbortSignal
  onProgress?: OnProgress
}

/** Sends a file as it is. */
export async function callWithFile<T>(
  path: string,
  { file, contentType, query = {}, signal, onProgress = () => undefined }: Upload,
): Promise<T> {
  const uploads = createParley({
    ...{ ...options, timeoutMs: UPLOAD_MS, repeatForMs: 0 },
    fetch: (request) => reach(request, (one, { signal }) => fetchWithProgress(one, { signal, onProgress })),
  })
  const headers = { 'content-type': contentType }
  const body = { body: file, bodySerializer: (body: unknown) => body }
  return (await request('POST', path, { ...body, headers, query, signal, from: uploads })).data as T
}

/** Paths are made of names of resources here, which the types of the client do not follow. */
async function request(
  method: string,
  path: string,
  { query, patient: isPatient, from = isPatient ? patient : parley, ...rest }: CallOptions & RequestOptions,
): Promise<{ data?: unknown; response: Response }> {
  const { api } = from
  const send = api.request as unknown as (
    method: string,
    path: string,
    init: object,
  ) => Promise<{ data?: unknown; error?: unknown; response: Response }>
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  const params = { query: Object.fromEntries(given) }
  const called = await (isPatient
    ? untilLeft((left) => {
        const signal = rest.signal ? AbortSignal.any([rest.signal, left]) : left
        return oneAtATime('patient', signal, () =>
          send(method.toLowerCase(), path, { ...rest, params, signal }),
        )
      })
    : send(method.toLowerCase(), path, { ...rest, params }))
  if (!called.response.ok) await succeeded(Promise.resolve(called))
  return called
}

interface RequestOptions {
  parseAs?: 'blob'
  from?: Parley
  bodySerializer?: (body: unknown) => unknown
}

/** Every request goes this way, so that what can't be reached is known. */
async function reach(
  request: Request,
  send: (request: Request, init: { signal: AbortSignal; cache: 'no-store' }) => Promise<Response> = fetch,
): Promise<Response> {
  const { pathname } = new URL(request.url)
  const collection = pathname.split('/').slice(1, 3).join('/')
  clearTimeout(lapses.get(collection))
  request.headers.set('accept-language', currentLanguage())
  const signal = request.method === 'GET' ? AbortSignal.any([request.signal, left.signal]) : request.signal
  try {
    const response = await send(request, { cache: 'no-store', signal })
    mark('gateway', false)
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) return watched(response)
    if (pathname !== STREAM) mark(collection, UNAVAILABLE.has(response.status))
    return response
  } catch (error) {
    if (!signal.aborted && pathname !== STREAM) mark('gateway', true)
    throw error
  } finally {
    if (unreachable.get().has(collection)) lapseLater(collection)
  }
}

/** Aborted when the page is left: in the back/forward cache its connections would stay, and its timeouts would stand still. */
let left = new AbortController()
addEventListener('pagehide', () => left.abort())
addEventListener('pageshow', () => {
  left = new AbortController()
})

const lapses = new Map<string, ReturnType<typeof setTimeout>>()

/** Ends the mark of something that nobody asks for any more: nothing would find out that it is back. */
function lapseLater(name: string): void {
  clearTimeout(lapses.get(name))
  lapses.set(
    name,
    setTimeout(() => mark(name, false), LAPSE_MS),
  )
}

/** The same stream, whose end is noticed. */
function watched({ body, status, headers }: Response): Response {
  const reader = body?.getReader()
  const ended = () => streamOpening.set(0)
  beginOpening()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const part = await reader?.read()
        if (part?.value !== undefined) return controller.enqueue(part.value)
        ended()
        controller.close()
      } catch (error) {
        ended()
        controller.error(error)
      }
    },
    cancel(reason) {
      ended()
      return reader?.cancel(reason)
    },
  })
  return new Response(stream, { status, headers })
}

/** Says whether something can't be reached at the moment. */
export function mark(name: string, isUnreachable: boolean): void {
  if (unreachable.get().has(name) === isUnreachable) return
  const names = new Set(unreachable.get())
  if (isUnreachable) names.add(name)
  else names.delete(name)
  unreachable.set(names)
}

/** Signs in; the refresh token goes into a cookie that scripts can't read. */
export async function logIn(credentials: { username: string; password: string }): Promise<void> {
  const body = { ...credentials, cookie: true }
  const { accessToken } = await call<{ accessToken: string }>('POST', '/api/auth/login', { body })
  cookieSession.begin(accessToken)
}

/** Ends the session, and removes the drafts. Returns whether the session is over: where the gateway has not ended it, its cookie would go on to work. */
export async function logOut(): Promise<boolean> {
  try {
    const owner = account.get()
    await call('POST', '/api/auth/logout')
    dropDrafts(owner)
    cookieSession.end()
  } catch {
    // Where it was refused because the session had ended, the refresh that followed has found that out.
  }
  return session.get() === 'out'
}

/** All documents of a list, `limit` at most. */
export async function listAll<T>(path: string, { limit = 1_000, query = {} as Query } = {}): Promise<T[]> {
  const found: T[] = []
  let after: string | undefined
  do {
    const page = await call<Page<T>>('GET', path, { query: { ...query, limit: 200, after } })
    found.push(...page.data)
    after = page.next ?? undefined
  } while (after !== undefined && found.length < limit)
  return found.slice(0, limit)
}
