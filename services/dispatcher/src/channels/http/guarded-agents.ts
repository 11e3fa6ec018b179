import { lookup as systemLookup } from 'node:dns'
import { Agent, type ClientRequest, request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import { type BlockList, isIP, isIPv6, type LookupFunction, Socket } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { LRUCache } from 'lru-cache'
import { CallError } from './call-error.ts'
import { isPublicAddress } from './public-address.ts'

const IDLE_SOCKET_MS = 4_000
const MAX_TARGETS = 1_000

/** Keep-alive connections to public targets and `allowed` ranges only, checked after DNS on every connection. */
export interface GuardedAgents {
  /**
   * A request that is not sent yet; undefined when it can't be made. `fail` gets the error of one that can't be made, is
   * refused, or fails before its response ends.
   */
  request(options: {
    method: string
    url: string
    headers: OutgoingHttpHeaders
    /** Breaks it off. */
    signal?: AbortSignal
    /** Asked when it has its connection: where it may not leave, it fails as `not_sent`. */
    mayLeave?(): boolean
    fail(error: CallError): void
  }): ClientRequest | undefined
  close(): void
}

export interface GuardedAgentsOptions {
  allowed: BlockList
  lookup?: LookupFunction
  /** Connections to one host at the same time. */
  maxSockets: number
}

export function createGuardedAgents(options: GuardedAgentsOptions): GuardedAgents {
  const { allowed, maxSockets } = options
  const lookup = filtering(options.lookup ?? systemLookup, allowed)
  const http = closingIdle(new Agent({ keepAlive: true, maxSockets, lookup }))
  const https = closingIdle(new SecureAgent({ keepAlive: true, maxSockets, lookup }))
  const targetOf = rememberTargets(allowed)
  return {
    request({ method, url, headers, signal, mayLeave = () => true, fail }) {
      const secure = url.startsWith('https:')
      let connected = false
      try {
        const target = targetOf(url)
        const agent = secure ? https : http
        const outgoing = (secure ? httpsRequest : httpRequest)({
          ...{ ...target, method, agent, headers },
          ...(signal && { signal }),
        })
        outgoing.on('socket', (socket) => {
          const onConnected = () => {
            connected = mayLeave()
            if (!connected) outgoing.destroy(new CallError('not_sent', undefined))
          }
          if (!socket.connecting) onConnected()
          else socket.once(secure ? 'secureConnect' : 'connect', onConnected)
        })
        outgoing.on('response', (response) => response.on('error', (error) => fail(callErrorOf(error, true))))
        return outgoing.on('error', (error) => fail(callErrorOf(error, connected)))
      } catch (error) {
        fail(callErrorOf(error, connected))
        return undefined
      }
    },
    close() {
      http.destroy()
      https.destroy()
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

type Target = ReturnType<typeof urlToHttpOptions>

/** Where a URL leads. Most calls go to few URLs. Throws when it is no URL, or its address is refused. */
function rememberTargets(allowed: BlockList): (url: string) => Target {
  const targets = new LRUCache<string, Target>({ max: MAX_TARGETS })
  return (url) => {
    const known = targets.get(url)
    if (known !== undefined) return known
    const target = urlToHttpOptions(new URL(url))
    if (isRefused(String(target.hostname), allowed)) throw new CallError('refused_target', undefined)
    targets.set(url, target)
    return target
  }
}

function callErrorOf(error: unknown, connected: boolean): CallError {
  if (error instanceof CallError) return error
  return new CallError(connected ? 'no_answer' : 'not_sent', error)
}
