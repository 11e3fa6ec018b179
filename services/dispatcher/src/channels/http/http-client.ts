import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { BlockList, LookupFunction } from 'node:net'
import { CallError } from './call-error.ts'
import { createGuardedAgents, type GuardedAgents } from './guarded-agents.ts'

export { CallError }

/** To one host, of all workspaces: each of them has fewer calls in flight there. */
const MAX_SOCKETS = 1_024

export interface HttpResponse {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export interface Call {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
  timeoutMs: number
  maxBytes: number
  /** Breaks the call off, which then has no answer. */
  signal?: AbortSignal
  /** Asked when the connection is there, which may be long after the call was made: where it may not, nothing is sent. */
  mayLeave?: MayLeave
}

export type MayLeave = () => boolean

/**
 * Calls URLs that a workspace configured. Private, loopback and link-local addresses are refused after DNS, on
 * every connection; redirects are not followed; the answer is read up to `maxBytes`, all within `timeoutMs`.
 * All throw {@link CallError}.
 */
export interface HttpClient {
  post(call: Omit<Call, 'method'> & { body: string }): Promise<HttpResponse>
  send(call: Call): Promise<HttpResponse>
  /** GETs the bytes as they come. */
  getBytes(call: Omit<Call, 'method' | 'body'>): Promise<Omit<HttpResponse, 'body'> & { body: Buffer }>
  close(): void
}

/** An HTTP client with keep-alive connections that lets only public targets and `allowed` ranges through. */
export function createHttpClient(options: { allowed: BlockList; lookup?: LookupFunction }): HttpClient {
  const agents = createGuardedAgents({ ...options, maxSockets: MAX_SOCKETS })
  const send: HttpClient['send'] = async (call) => {
    const { status, headers, body } = await exchange(call, agents)
    return { status, headers, body: body.toString() }
  }
  return {
    post: (call) => send({ ...call, method: 'POST' }),
    send,
    getBytes: (call) => exchange({ ...call, method: 'GET' }, agents),
    close: agents.close,
  }
}

function exchange(
  { method, url, headers, body, timeoutMs, maxBytes, signal, mayLeave }: Call,
  agents: GuardedAgents,
): ReturnType<HttpClient['getBytes']> {
  return new Promise((resolve, reject) => {
    let late: NodeJS.Timeout | undefined
    const fail = (error: CallError) => {
      clearTimeout(late)
      reject(error)
    }
    const sized =
      body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = agents.request({
      ...{ method, url, headers: sized, fail },
      ...(signal && { signal }),
      ...(mayLeave && { mayLeave }),
    })
    if (outgoing === undefined) return
    late = setTimeout(() => outgoing.destroy(new Error('no whole answer in time')), timeoutMs)
    outgoing.on('response', (response) => {
      const done = (body: Buffer) => {
        clearTimeout(late)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      }
      readBody(response, { maxBytes, done, fail })
    })
    outgoing.end(body)
  })
}

function readBody(
  response: IncomingMessage,
  { maxBytes, done, fail }: { maxBytes: number; done(body: Buffer): void; fail(error: CallError): void },
): void {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxBytes) return void chunks.push(chunk)
    fail(new CallError('answer_too_large', undefined, response.statusCode))
    response.destroy()
  })
  response.on('end', () => done(Buffer.concat(chunks)))
}
