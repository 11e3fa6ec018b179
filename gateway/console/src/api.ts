import { createStore } from './store.ts'

/** An error that the API reports, as RFC 9457 has it. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly fields: readonly FieldProblem[]

  constructor(status: number, body: ProblemBody) {
    super(body.detail ?? body.title ?? `The gateway responded with ${status}.`)
    this.name = 'ApiProblem'
    this.status = status
    this.code = body.code ?? 'unknown'
    this.fields = body.errors ?? []
  }
}

export interface FieldProblem {
  path: string
  code: string
  message: string
}

interface ProblemBody {
  title?: string
  detail?: string
  code?: string
  errors?: FieldProblem[]
}

export interface Page<T> {
  data: T[]
  next: string | null
}

type Query = Record<string, string | number | boolean | undefined>

export interface CallOptions {
  query?: Query
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

interface Tokens {
  accessToken: string
  expiresAt: string
}

const REQUEST_MS = 30_000
const UNAVAILABLE = new Set([502, 503, 504])
// Says only that there may be a cookie, so that nobody without one is asked for it.
const SIGNED_IN = 'parley.signed-in'

/** Whether somebody is signed in; `unknown` until the cookie was tried. */
export const session = createStore<'unknown' | 'in' | 'out'>('unknown')
/** What can't be reached: `gateway`, or the collections whose service is unavailable. */
export const unreachable = createStore<ReadonlySet<string>>(new Set())

let accessToken: string | undefined
let refreshing: Promise<boolean> | undefined

/** Calls the API and returns the response's JSON. Throws {@link ApiProblem}, or `TypeError` without a response. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options)
  return (await response.json()) as T
}

/** The same for what is no JSON. */
export async function callForBlob(path: string): Promise<Blob> {
  return (await send('GET', path, {})).blob()
}

async function send(method: string, path: string, options: CallOptions): Promise<Response> {
  const response = await request(method, path, options)
  const mayRefresh = response.status === 401 && !path.startsWith('/api/auth/')
  if (!mayRefresh || !(await refresh())) return succeeded(response)
  return succeeded(await request(method, path, options))
}

async function succeeded(response: Response): Promise<Response> {
  if (response.ok) return response
  const body = (await response.json().catch(() => ({}))) as ProblemBody
  throw new ApiProblem(response.status, body)
}

async function request(method: string, path: string, options: CallOptions): Promise<Response> {
  const { query = {}, body, headers = {}, signal } = options
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, String(value))
  const text = search.size === 0 ? path : `${path}?${search}`
  const init: RequestInit = {
    method,
    headers: {
      ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    cache: 'no-store',
    signal: AbortSignal.any([AbortSignal.timeout(REQUEST_MS), ...(signal ? [signal] : [])]),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  try {
    const response = await fetch(text, init)
    noteReachable(path, !UNAVAILABLE.has(response.status))
    return response
  } catch (error) {
    if (signal?.aborted !== true) mark('gateway', true)
    throw error
  }
}

function noteReachable(path: string, reachable: boolean): void {
  mark('gateway', false)
  mark(path.split('/').slice(1, 3).join('/'), !reachable)
}

function mark(name: string, isUnreachable: boolean): void {
  if (unreachable.get().has(name) === isUnreachable) return
  const names = new Set(unreachable.get())
  if (isUnreachable) names.add(name)
  else names.delete(name)
  unreachable.set(names)
}

/** Signs in; the refresh token goes into a cookie that scripts can't read. */
export async function logIn(credentials: { username: string; password: string }): Promise<void> {
  begin(await call<Tokens>('POST', '/api/auth/login', { body: { ...credentials, cookie: true } }))
}

export async function logOut(): Promise<void> {
  await call('POST', '/api/auth/logout').catch(() => undefined)
  end()
}

/** Goes on with the session of the cookie, if there is one. */
export async function resume(): Promise<void> {
  if (localStorage.getItem(SIGNED_IN) === null) return session.set('out')
  await refresh()
}

/** Gets the next access token: once for all requests that need it at the same time. */
function refresh(): Promise<boolean> {
  refreshing ??= refreshOnce().finally(() => {
    refreshing = undefined
  })
  return refreshing
}

async function refreshOnce(): Promise<boolean> {
  try {
    begin(await call<Tokens>('POST', '/api/auth/refresh'))
    return true
  } catch (error) {
    // Unavailable is no reason to sign anybody out.
    if (error instanceof ApiProblem && error.status < 500 && error.status !== 429) end()
    else if (session.get() === 'unknown') setTimeout(() => void refresh(), 1_000)
    return false
  }
}

function begin(tokens: Tokens): void {
  accessToken = tokens.accessToken
  localStorage.setItem(SIGNED_IN, '1')
  session.set('in')
}

function end(): void {
  accessToken = undefined
  localStorage.removeItem(SIGNED_IN)
  session.set('out')
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
