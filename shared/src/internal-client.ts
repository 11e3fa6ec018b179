import { type RequestInit, Response } from 'undici'
import {
  clockSetting,
  INTERNAL_TOKEN_SECONDS,
  type InternalSigner,
  type ServiceName,
  wasClockSet,
} from './internal-token.ts'
import { parseJson } from './parse-json.ts'
import { Problem } from './problem.ts'
import type { ServiceCalls, Target } from './service-calls.ts'

const TIMEOUT_MS = 3_000
const TOKEN_MARGIN_SECONDS = 15
const NOT_READY = 503

type Init = RequestInit & { headers?: Record<string, string> }

export interface InternalClient {
  /** GETs JSON from the other service; undefined for 404, `unavailable` when it is unavailable or slow (3 s). */
  get(path: string): Promise<unknown>
  /** POSTs JSON likewise; what takes longer as a rule says so. */
  post(path: string, body: unknown, limits?: { timeoutMs: number }): Promise<unknown>
  /** GETs whatever it is; undefined for 404, `unavailable` when the service fails, is slow, or sends too much. */
  getBytes(path: string, limits: { maxBytes: number; timeoutMs: number }): Promise<Buffer | undefined>
}

/**
 * Calls another service as this service, with a token of its own that is renewed in time. An instance that can't be
 * reached or is not ready is left out, and another one asked instead, once.
 */
export function createInternalClient(options: {
  targets: Targets
  audience: ServiceName
  signer: InternalSigner
  calls: Pick<ServiceCalls, 'call'>
}): InternalClient {
  const { targets, audience, signer, calls } = options
  const token = renewing(() => signer.sign({ audience }))
  const call = async <T>(
    path: string,
    init: Init,
    read: (response: Response) => Promise<T>,
    timeoutMs = TIMEOUT_MS,
  ) => {
    let response: Response
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const headers = { ...init.headers, authorization: `Bearer ${token()}` }
      response = await reach({ targets, calls }, path, { ...init, headers, signal })
      if (response.ok) return await read(response)
      await response.body?.cancel()
    } catch (cause) {
      throw new Problem('unavailable', { detail: `The ${audience} service is unavailable.`, cause })
    }
    if (response.status === 404) return undefined
    throw new Problem('unavailable', {
      detail: `The ${audience} service does not answer as it should.`,
      cause: new Error(`${audience} answered ${response.status} to ${path}`),
    })
  }
  return {
    get: (path) => call(path, {}, readJson),
    post: (path, body, { timeoutMs = TIMEOUT_MS } = { timeoutMs: TIMEOUT_MS }) =>
      call(
        path,
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        },
        readJson,
        timeoutMs,
      ),
    getBytes: (path, { maxBytes, timeoutMs }) =>
      call(path, {}, (response) => readBytes(response, maxBytes), timeoutMs),
  }
}

async function readJson(response: Response): Promise<unknown> {
  return parseJson(await response.text())
}

async function readBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Asks one instance, and another when the first can't be reached or is not ready. What is asked of inner paths may be
 * asked twice: nothing there depends on how often.
 */
async function reach(
  { targets, calls }: { targets: Targets; calls: Pick<ServiceCalls, 'call'> },
  path: string,
  init: RequestInit,
): Promise<Response> {
  const first = targets.next()
  const outcome = await calls.call(first, path, init).catch((error: Error) => error)
  if (outcome instanceof Response && outcome.status !== NOT_READY) return outcome
  targets.suspect(first)
  const other = targets.next()
  if (init.signal?.aborted || other.host === first.host) {
    if (outcome instanceof Response) return outcome
    throw outcome
  }
  if (outcome instanceof Response) await outcome.body?.cancel()
  return calls.call(other, path, init)
}

function renewing(sign: () => string): () => string {
  let token = ''
  let renewAt = 0
  let clock = 0
  return () => {
    if (performance.now() >= renewAt || wasClockSet(clock)) {
      token = sign()
      clock = clockSetting()
      renewAt = performance.now() + (INTERNAL_TOKEN_SECONDS - TOKEN_MARGIN_SECONDS) * 1000
    }
    return token
  }
}

/** The instances of a service. */
export interface Targets {
  /** The next one by round robin that seems to be alive; any when none does. */
  next(): Target
  /** Leaves one out for a while, because it could not be reached. */
  suspect(target: Target): void
}

const LEFT_OUT_MS = 2_000

/** Takes `urls` by round robin; one that could not be reached is left out for 2 s. */
export function roundRobin(urls: readonly URL[], now: () => number = () => performance.now()): Targets {
  const until = new Map<string, number>()
  let turn = 0
  return {
    next() {
      const alive = urls.filter(({ host }) => (until.get(host) ?? 0) <= now())
      const candidates = alive.length === 0 ? urls : alive
      turn = (turn + 1) % candidates.length
      return candidates[turn] as URL
    },
    suspect: ({ host }) => void until.set(host, now() + LEFT_OUT_MS),
  }
}
