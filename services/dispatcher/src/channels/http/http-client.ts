import { lookup as systemLookup } from 'node:dns'
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import { type BlockList, isIP, isIPv6, type LookupFunction, Socket } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { LRUCache } from 'lru-cache'
import { isPublicAddress } from './public-address.ts'

/** To one host, of all workspaces: each of them has fewer calls in flight there. */
const MAX_SOCKETS = 1_024
const IDLE_SOCKET_MS = 4_000
const MAX_TARGETS = 1_000

/** How a call failed: nothing left (`not_sent`), the target is private (`refused_target`), no answer came, or it was too large. */
type CallFailure = 'not_sent' | 'refused_target' | 'no_answer' | 'answer_too_large'

export class CallError extends Error {
  readonly failure: CallFailure
  /** The answer's status, where one came. */
  readonly status: number | undefined

  constructor(failure: CallFailure, cause: unknown, status?: number) {
    super(failure, { cause })
    this.failure = failure
    this.status = status
  }
}

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
}

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
  const agentOptions = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    lookup: filtering(options.lookup ?? systemLookup, options.allowed),
  }
  const agents = {
    http: closingIdle(new Agent(agentOptions)),
    https: closingIdle(new SecureAgent(agentOptions)),
    refuses: (host: string) => isRefused(host, options.allowed),
  }
  const send: HttpClient['send'] = async (call) => {
    const { status, headers, body } = await exchange(call, agents)
    return { status, headers, body: body.toString() }
  }
  return {
    post: (call) => send({ ...call, method: 'POST' }),
    send,
    getBytes: (call) => exchange({ ...call, method: 'GET' }, agents),
    close: () => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

/** DNS is not asked for an address that stands in the URL itself. */
function isRefused(host: string, allowed: BlockList): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  const isAllowed = () => allowed.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return isIP(address) !== 0 && !isPublicAddress(address) && !isAllowed()
}

/** Looks a name up and refuses it when one of its addresses is; so it is on every connection. */
function filtering(lookup: LookupFunction, allowed: BlockList): LookupFunction {
  return (hostname, options, done) =>
    lookup(hostname, options, (error, found, family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address)
      if (error === null && addresses.some((address) => isRefused(address, allowed)))
        return done(new CallError('refused_target', undefined), '')
      done(error, found, family)
    })
}

/**
 * Closes sockets that were idle for 4 s, before the other side does in the moment of their next use. The agent's own
 * `timeout` would also time each request, which costs more and is done here for the whole exchange.
 */
function closingIdle<A extends Agent>(agent: A): A {
  const leaveOpen = agent.keepSocketAlive.bind(agent)
  const reuse = agent.reuseSocket.bind(agent)
  agent.keepSocketAlive = (socket) => {
    const staysOpen = leaveOpen(socket)
    // The other side may have named a shorter time.
    if (socket instanceof Socket && (socket.timeout || Number.POSITIVE_INFINITY) > IDLE_SOCKET_MS)
      socket.setTimeout(IDLE_SOCKET_MS)
    return staysOpen
  }
  agent.reuseSocket = (socket, request) => {
    if (socket instanceof Socket) socket.setTimeout(0)
    reuse(socket, request)
  }
  return agent
}

function exchange(
  call: Call,
  agents: { http: Agent; https: SecureAgent; refuses(host: string): boolean },
): ReturnType<HttpClient['getBytes']> {
  return new Promise((resolve, reject) => {
    const secure = call.url.startsWith('https:')
    const { method, body } = call
    let connected = false
    let late: NodeJS.Timeout | undefined
    const fail = (error: unknown) => {
      clearTimeout(late)
      reject(failureOf(error, connected))
    }
    let outgoing: ReturnType<typeof httpRequest>
    try {
      const target = targetOf(call.url)
      if (agents.refuses(String(target.hostname))) throw new CallError('refused_target', undefined)
      outgoing = (secure ? httpsRequest : httpRequest)({
        ...target,
        method,
        agent: secure ? agents.https : agents.http,
        headers:
          body === undefined ? call.headers : { ...call.headers, 'content-length': Buffer.byteLength(body) },
      })
    } catch (error) {
      return fail(error)
    }
    late = setTimeout(() => outgoing.destroy(new Error('no whole answer in time')), call.timeoutMs)
    outgoing.on('socket', (socket) => {
      if (!socket.connecting) connected = true
      else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true))
    })
    outgoing.on('error', fail)
    outgoing.on('response', (response) => {
      const done = (body: Buffer) => {
        clearTimeout(late)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      }
      readBody(response, { maxBytes: call.maxBytes, done, fail })
    })
    outgoing.end(body)
  })
}

// Most calls go to few URLs.
const targets = new LRUCache<string, ReturnType<typeof urlToHttpOptions>>({ max: MAX_TARGETS })

/** Throws when it is no URL. */
function targetOf(url: string): ReturnType<typeof urlToHttpOptions> {
  const target = targets.get(url) ?? urlToHttpOptions(new URL(url))
  targets.set(url, target)
  return target
}

function failureOf(error: unknown, connected: boolean): CallError {
  if (error instanceof CallError) return error
  return new CallError(connected ? 'no_answer' : 'not_sent', error)
}

function readBody(
  response: IncomingMessage,
  { maxBytes, done, fail }: { maxBytes: number; done(body: Buffer): void; fail(error: unknown): void },
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
  response.on('error', fail)
}
