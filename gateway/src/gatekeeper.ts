import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP } from 'node:net'
import { addressKey } from '@parley/shared/addresses'
import type { AuditReports } from '@parley/shared/audit-acts'
import type { PendingResponse, ReceivedRequest } from '@parley/shared/exchange'
import type { InternalSigner } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { unauthenticated } from './access-tokens.ts'
import { reportWhenDone } from './audited.ts'
import { type Callers, internalTokenFor, type KnownCaller } from './callers.ts'
import type { EventStreams } from './event-streams.ts'
import type { Forwarding } from './forward.ts'
import type { Instances } from './instances.ts'
import type { RateLimits } from './rate-limit/rate-limits.ts'
import type { Route, Upstream } from './routes.ts'

interface Gatekeeping {
  services: Record<Upstream, Instances>
  callers: Callers
  signer: InternalSigner
  limits: RateLimits
  streams: Pick<EventStreams, 'begin'>
  trustedProxies: BlockList
  reports: Pick<AuditReports, 'report'>
}

const BEARER = /^Bearer +([\w-]+(?:\.[\w-]+\.[\w-]+)?)$/i

/** A request for a route of the table. */
export interface Routed {
  route: Route
  /** Without the query. */
  path: string
  req: ReceivedRequest
  res: PendingResponse
}

/**
 * Checks a request's method and size, finds its caller where the route requires one, checks the rate limits, and sets
 * `res.locals.forwarding`. Throws the problem of a request that is refused; a promise is returned only for a caller
 * who is not known yet, because a promise for each request costs time.
 */
export function gatekeeper(gatekeeping: Gatekeeping): (routed: Routed) => Promise<void> | undefined {
  const { callers, limits, trustedProxies } = gatekeeping
  return (routed) => {
    const { route, req, res } = routed
    const address = clientAddress(req, trustedProxies)
    res.locals.route = route.path
    const problem = problemOf(routed)
    if (problem !== undefined) {
      limits.page(addressKey(address))
      throw problem
    }
    const token = route.access === 'public' ? undefined : bearerIn(req.headers.authorization)
    const asked = { ...routed, token, address }
    const known = token === undefined ? undefined : callers.known(token)
    if (known === undefined)
      return callerFor(gatekeeping, asked).then((caller) => letThrough(gatekeeping, asked, caller))
    letThrough(gatekeeping, asked, known)
    return undefined
  }
}

/** Why a route does not take a request, whoever makes it. */
function problemOf({ route, req }: Routed): Problem | undefined {
  if (!route.methods.includes(req.method ?? ''))
    return new Problem('method_not_allowed', { headers: { allow: route.methods.join(', ') } })
  return Number(req.headers['content-length']) > route.maxBytes ? new Problem('body_too_large') : undefined
}

interface Asked extends Routed {
  address: string
  token: string | undefined
}

/** Counts the request, and sets its target and the caller that it is made for. */
function letThrough(
  { services, limits, signer, streams, reports }: Gatekeeping,
  { route, path, req, res, address, token }: Asked,
  known: KnownCaller | undefined,
): void {
  const instances = services[route.upstream]
  const forwarding: Forwarding = { target: instances.next(), instances, address, internalToken: undefined }
  if (known === undefined) limits.anonymous(route, path, addressKey(address))
  else {
    res.locals.caller = known.caller
    reportWhenDone(reports, { req, res, upstream: route.upstream })
    limits.caller(route, known.caller)
    const { caller, internalTokens: cached } = known
    forwarding.internalToken = internalTokenFor(route.upstream, { caller, cached, signer })
    if (route.isStream === true && token !== undefined) {
      streams.begin({ token, known, res })
      res.locals.isStream = true
    }
    if (route.isUpload === true) res.locals.isUpload = true
  }
  res.locals.forwarding = forwarding
}

/** The caller; undefined on a public path, and where an optional token is not valid. */
async function callerFor(
  { callers, limits }: Gatekeeping,
  { route, req, address, token }: Asked,
): Promise<KnownCaller | undefined> {
  if (route.access === 'public') return undefined
  try {
    if (token === undefined)
      throw unauthenticated(req.headers.authorization === undefined ? 'missing' : 'malformed')
    limits.unknownToken(addressKey(address))
    return await callers.resolve(token)
  } catch (error) {
    const refused = error instanceof Problem && error.code === 'unauthenticated'
    if (route.access === 'optional' && refused) return undefined
    throw error
  }
}

const bearerIn = (authorization = ''): string | undefined => BEARER.exec(authorization)?.[1]

/**
 * Where a request comes from: the other end of the connection, or, when that is a proxy that is trusted, the
 * nearest address in `X-Forwarded-For` that is not. An untrusted caller can't choose it.
 */
export function clientAddress(req: IncomingMessage, trusted: BlockList): string {
  let address = plain(req.socket.remoteAddress ?? '')
  if (trusted.rules.length === 0) return address
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',')
  while (isTrusted(address, trusted)) {
    const before = plain(forwarded.pop()?.trim() ?? '')
    if (isIP(before) === 0) break
    address = before
  }
  return address
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
