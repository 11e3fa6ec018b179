import { pause } from './pause.ts'

/** Sends a request; resolves with the response, whatever its status, once its body is there. */
export type Fetch = (request: Request) => Promise<Response>

export interface RepeatOptions {
  fetch: Fetch
  /** How long one attempt may take, in milliseconds. */
  timeoutMs: number
  /** How long a request is repeated at most, in milliseconds; 0 for never. */
  repeatForMs: number
}

const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 5_000
const MAX_ATTEMPTS = 8
const IDEMPOTENT = ['GET', 'HEAD', 'PUT']
const CONDITIONS = ['if-match', 'if-none-match']
const TOO_MANY_REQUESTS = 429
const LOGIN_PATHS = ['/api/auth/login', '/api/auth/refresh']

/**
 * A fetch that repeats what may be repeated, at most 8 times in `repeatForMs`: after a broken connection or a timeout,
 * a 503, and what comes with `Retry-After`, which it waits for. That is GET, HEAD and PUT, what has an
 * `Idempotency-Key`, and logging in. A conditional PUT is repeated only where it was certainly not applied (429): else its
 * own first attempt might be what the repeat finds changed. Throws what the last attempt threw.
 */
export function repeatedFetch({ fetch, timeoutMs, repeatForMs }: RepeatOptions): Fetch {
  return async (request) => {
    const deadline = performance.now() + (isRepeatable(request) ? repeatForMs : 0)
    // A request's body can be read once only.
    const bytes = request.body === null ? undefined : await request.arrayBuffer()
    for (let attempts = 1; ; attempts++) {
      const outcome = await attempt(fetch, request, { bytes, timeoutMs })
      const isLast = attempts === MAX_ATTEMPTS || request.signal.aborted || mayMeetItself(request, outcome)
      const pauseMs = isLast ? undefined : pauseAfter(outcome, attempts)
      if (pauseMs !== undefined && performance.now() + pauseMs < deadline)
        await pause(pauseMs, request.signal)
      else if (outcome instanceof Response) return outcome
      else throw outcome.error
    }
  }
}

function isRepeatable({ method, headers, url }: Request): boolean {
  return (
    IDEMPOTENT.includes(method) ||
    headers.has('idempotency-key') ||
    LOGIN_PATHS.includes(new URL(url).pathname)
  )
}

/** True when a repeat could fail because of the first attempt: it may have been applied, and its condition holds once. */
function mayMeetItself({ method, headers }: Request, outcome: Response | { error: unknown }): boolean {
  const isConditional = method === 'PUT' && CONDITIONS.some((name) => headers.has(name))
  return isConditional && !(outcome instanceof Response && outcome.status === TOO_MANY_REQUESTS)
}

async function attempt(
  fetch: Fetch,
  { url, method, headers, signal }: Request,
  { bytes, timeoutMs }: { bytes: ArrayBuffer | undefined; timeoutMs: number },
): Promise<Response | { error: unknown }> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const body = bytes === undefined ? {} : { body: bytes }
    return await withBody(await fetch(new Request(url, { method, headers, signal: limited, ...body })), url)
  } catch (error) {
    return { error }
  }
}

/** The response once its body is there, so that a connection which breaks in its middle counts as broken. */
async function withBody(response: Response, url: string): Promise<Response> {
  const { status, statusText, headers } = response
  const bytes = await response.arrayBuffer()
  const whole = new Response(bytes.byteLength === 0 ? null : bytes, { status, statusText, headers })
  Object.defineProperty(whole, 'url', { value: response.url || url })
  return whole
}

/** In milliseconds; undefined where repeating would not help. */
function pauseAfter(outcome: Response | { error: unknown }, attempts: number): number | undefined {
  const backoff = Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), MAX_PAUSE_MS) * (0.5 + Math.random() / 2)
  if (!(outcome instanceof Response)) return backoff
  const seconds = Number(outcome.headers.get('retry-after') ?? Number.NaN)
  if (outcome.ok || (Number.isNaN(seconds) && outcome.status !== 503)) return undefined
  return Number.isNaN(seconds) ? backoff : seconds * 1_000
}
