import { lookup as systemLookup } from 'node:dns'
import { readFileSync } from 'node:fs'
import { type BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'
import { defined } from '@parley/shared/defined'
import { LRUCache } from 'lru-cache'
import type { Dispatcher } from 'undici'
import { CallError } from './call-error.ts'
import { OriginPools } from './origin-pools.ts'
import { isPublicAddress } from './public-address.ts'

const CONNECT_MS = 10_000
const IDLE_SOCKET_MS = 4_000
/** So much sooner than the other side says is an idle connection closed. */
const CLOSED_SOONER_MS = 1_000
const MAX_TARGETS = 1_000

/** As undici gives them: a name that came twice has all its values. */
export type ResponseHeaders = Record<string, string | string[] | undefined>

export interface GuardedRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string | Buffer | undefined
  /** Of the response's body: a larger one fails as `answer_too_large`. */
  maxBytes: number
  /** Asked when it has its connection: where it may not leave, it fails as `not_sent`. */
  mayLeave?: (() => boolean) | undefined
}

/** Receives the progress of a request. After `ended` or `failed` nothing more comes. */
interface Receiver {
  started(status: number, headers: ResponseHeaders): void
  received(chunk: Buffer): void
  ended(): void
  failed(error: CallError): void
}

interface Exchange {
  /** Fails it, unless it has ended, and closes its connection; one that has none yet will not be sent. */
  breakOff(cause: unknown): void
  /** Reads nothing more of the response until `resume`. */
  pause(): void
  resume(): void
}

/**
 * Keep-alive connections to public targets and `allowed` ranges only, checked after DNS on every connection. Redirects
 * are not followed, and nothing is sent twice.
 */
export interface GuardedAgent {
  send(request: GuardedRequest, receiver: Receiver): Exchange
  close(): void
}

export interface GuardedAgentOptions {
  allowed: BlockList
  lookup?: LookupFunction
  /** Connections to one host at the same time. */
  maxSockets: number
}

export function createGuardedAgent(options: GuardedAgentOptions): GuardedAgent {
  const { allowed, maxSockets } = options
  const pools = new OriginPools({
    allowH2: false,
    pipelining: 1,
    connections: maxSockets,
    connect: { lookup: filtering(sharing(options.lookup ?? systemLookup), allowed), timeout: CONNECT_MS },
    // Closes them before the other side does in the moment of their next use.
    keepAliveTimeout: IDLE_SOCKET_MS,
    keepAliveMaxTimeout: IDLE_SOCKET_MS,
    keepAliveTimeoutThreshold: CLOSED_SOONER_MS,
    // Whoever sends has a deadline for the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const targetOf = rememberTargets(allowed)
  return {
    send(request, receiver) {
      const exchange = new GuardedExchange(request, receiver)
      try {
        const { origin, path, authorization } = targetOf(request.url)
        const { method, headers, body } = request
        pools.dispatch(
          {
            ...{ origin, path, method: method as Dispatcher.HttpMethod, body: body ?? null },
            headers: withDefaults(headers, { ...defined({ authorization }), 'user-agent': USER_AGENT }),
          },
          exchange,
        )
      } catch (error) {
        exchange.breakOff(error)
      }
      return exchange
    },
    close: () => pools.close(),
  }
}

/** Some servers refuse who does not say who it is. */
const USER_AGENT = `Parley/${versionOfProduct()}`

function versionOfProduct(): string {
  const { version } = JSON.parse(
    readFileSync(new URL('../../../../../package.json', import.meta.url), 'utf8'),
  )
  return String(version)
}

/** The headers, with those of `defaults` that are not among them, whatever the case of their names. */
export function withDefaults(
  headers: Record<string, string>,
  defaults: Record<string, string>,
): Record<string, string> {
  const all = { ...defaults, ...headers }
  for (const given in headers) {
    const name = given.toLowerCase()
    if (name !== given && name in defaults && !(name in headers)) delete all[name]
  }
  return all
}

class GuardedExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly #request: GuardedRequest
  readonly #receiver: Receiver
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #size = 0
  #isComplete = false
  #isOver = false

  constructor(request: GuardedRequest, receiver: Receiver) {
    this.#request = request
    this.#receiver = receiver
  }

  breakOff(cause: unknown): void {
    if (this.#isComplete) {
      this.#end()
      return
    }
    this.#fail(cause)
    this.#controller?.abort(BROKEN_OFF)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** Called when it has its connection, before anything is written to it. What it throws keeps the request from leaving. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#controller !== undefined) throw SENT_ALREADY
    if (this.#isOver || this.#request.mayLeave?.() === false) throw NOT_SENT
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // A lower status is not the response yet.
    if (status < 200 || this.#isOver) return
    this.#status = status
    this.#receiver.started(status, headers)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    // The parser goes on with an empty chunk after a pause; whoever paused at that one too would do so forever.
    if (this.#isOver || chunk.length === 0) return
    this.#size += chunk.length
    if (this.#size <= this.#request.maxBytes) this.#receiver.received(chunk)
    else this.breakOff(new CallError('answer_too_large', undefined, this.#status))
  }

  onResponseEnd(): void {
    this.#isComplete = true
    // undici frees the connection in a `setImmediate` that it asks for after this. Whoever heard of the end before that
    // would have to open another one for the next request: twice as many as there are requests at once.
    queueMicrotask(() => setImmediate(() => this.#end()))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#receiver.ended()
  }

  #fail(cause: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    const hasLeft = this.#controller !== undefined
    const error =
      cause instanceof CallError ? cause : new CallError(hasLeft ? 'no_answer' : 'not_sent', cause)
    this.#receiver.failed(error)
  }
}

// One for all, because nobody reads their stack.
const NOT_SENT = new Error('the request may not leave')
const SENT_ALREADY = new Error('the request has left once')
const BROKEN_OFF = new Error('the exchange was broken off')

/** DNS is not asked for an address that stands in the URL itself. */
function isRefused(host: string, allowed: BlockList): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  const isAllowed = () => allowed.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return isIP(address) !== 0 && !isPublicAddress(address) && !isAllowed()
}

/** Those who look for the same name at the same time share an answer: a process has four threads that ask for them. */
function sharing(lookup: LookupFunction): LookupFunction {
  const pending = new Map<string, Parameters<LookupFunction>[2][]>()
  return (hostname, options, done) => {
    const key = JSON.stringify([hostname, options])
    const sharers = pending.get(key)
    if (sharers !== undefined) return void sharers.push(done)
    const all = [done]
    pending.set(key, all)
    lookup(hostname, options, (...answer) => {
      pending.delete(key)
      for (const one of all) one(...answer)
    })
  }
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

interface Target {
  origin: string
  path: string
  /** Of the name and password in the URL. */
  authorization: string | undefined
}

/** Where a URL leads. Most calls go to few URLs. Throws when it is no URL, or its address is refused. */
function rememberTargets(allowed: BlockList): (url: string) => Target {
  const targets = new LRUCache<string, Target>({ max: MAX_TARGETS })
  return (text) => {
    const known = targets.get(text)
    if (known !== undefined) return known
    const url = new URL(text)
    if (isRefused(url.hostname, allowed)) throw new CallError('refused_target', undefined)
    const target = {
      origin: url.origin,
      path: url.pathname + url.search,
      authorization: authorizationOf(url),
    }
    targets.set(text, target)
    return target
  }
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(plain).toString('base64')}`
}
