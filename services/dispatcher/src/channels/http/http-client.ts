import type { BlockList, LookupFunction } from 'node:net'
import { CallError } from './call-error.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import { createGuardedAgent, type GuardedAgent, type ResponseHeaders, withDefaults } from './guarded-agent.ts'
import { JsonCounter } from './response-bounds.ts'
import { responseMemory } from './response-memory.ts'

export { CallError }

/** To one host, of all workspaces: each of them has fewer calls in flight there. */
const MAX_SOCKETS = 1_024
const MAX_NODES = 20_000

export interface HttpResponse {
  status: number
  headers: ResponseHeaders
  body: string
}

export interface Call {
  method: string
  url: string
  headers: Record<string, string>
  body?: string | Buffer
  timeoutMs: number
  maxBytes: number
  /** Of a text: its commas, objects and arrays, as JSON has them; 20,000 unless said, infinitely many where nobody parses it. */
  maxNodes?: number
  /** Breaks the call off, which then has no answer. */
  signal?: AbortSignal
  /** Asked when the connection is there, which may be long after the call was made: where it may not, nothing is sent. */
  mayLeave?: MayLeave
}

export type MayLeave = () => boolean

/**
 * Calls URLs that a workspace configured. Private, loopback and link-local addresses are refused after DNS, on
 * every connection; redirects are not followed; the answer is read up to `maxBytes`, a text up to `maxNodes`, all within
 * `timeoutMs`.
 * All throw {@link CallError}.
 */
export interface HttpClient {
  post(call: Omit<Call, 'method'> & { body: string }): Promise<HttpResponse>
  send(call: Call): Promise<HttpResponse>
  /** GETs the bytes of a file, as they come; whoever reads files has slots for them. */
  getBytes(call: Omit<Call, 'method' | 'body'>): Promise<Omit<HttpResponse, 'body'> & { body: Buffer }>
  close(): void
}

const READ_AS_TEXT = 'application/json, text/*;q=0.9, */*;q=0.8'

/** An HTTP client with keep-alive connections that lets only public targets and `allowed` ranges through. */
export function createHttpClient(options: { allowed: BlockList; lookup?: LookupFunction }): HttpClient {
  const agent = createGuardedAgent({ ...options, maxSockets: MAX_SOCKETS })
  const send: HttpClient['send'] = ({ headers, ...call }) =>
    exchange({ ...call, headers: withDefaults(headers, { accept: READ_AS_TEXT }) }, agent, {
      read: String,
      isShared: true,
    })
  return {
    post: (call) => send({ ...call, method: 'POST' }),
    send,
    getBytes: (call) =>
      exchange({ ...call, method: 'GET' }, agent, { read: (body) => body, isShared: false }),
    close: agent.close,
  }
}

function exchange<B>(
  call: Call,
  agent: GuardedAgent,
  { read, isShared }: { read(body: Buffer): B; isShared: boolean },
): Promise<Omit<HttpResponse, 'body'> & { body: B }> {
  const { timeoutMs, signal, maxNodes = MAX_NODES } = call
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new CallError('not_sent', signal.reason))
    const body = new GrowingBuffer(call.maxBytes)
    const json = new JsonCounter()
    const share = responseMemory.share((error) => underway.breakOff(error))
    let status = 0
    let headers: ResponseHeaders = {}
    const late = setTimeout(() => underway.breakOff(new Error('no whole answer in time')), timeoutMs)
    const abort = () => underway.breakOff(signal?.reason)
    const over = () => {
      share.close()
      clearTimeout(late)
      signal?.removeEventListener('abort', abort)
    }
    signal?.addEventListener('abort', abort)
    const underway = agent.send(call, {
      started(...start) {
        ;[status, headers] = start
      },
      received(chunk) {
        body.append(chunk)
        if (!isShared) return
        share.use(body.allocated)
        if (maxNodes !== Number.POSITIVE_INFINITY) json.add(chunk)
        if (json.nodes + json.repeatedNodes > maxNodes)
          underway.breakOff(new CallError('answer_too_large', undefined, status))
      },
      ended() {
        over()
        resolve({ status, headers, body: read(body.take()) })
      },
      failed(error) {
        over()
        reject(error)
      },
    })
  })
}
