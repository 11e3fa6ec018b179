import type { BlockList } from 'node:net'
import { addressKey } from '@parley/shared/addresses'
import type { InternalSigner } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { Request, RequestHandler, Response } from 'express'
import { type Callers, internalTokenFor, type KnownCaller } from './callers.ts'
import { clientAddress } from './client-address.ts'
import type { Forwarding } from './forward.ts'
import type { Instances } from './instances.ts'
import { nearestPath } from './nearest-path.ts'
import type { RateLimits } from './rate-limit/rate-limits.ts'
import type { FindRoute, Route, Upstream } from './routes.ts'
import { unauthenticated } from './unauthenticated.ts'

interface Gatekeeping {
  findRoute: FindRoute
  services: Record<Upstream, Instances>
  callers: Callers
  signer: InternalSigner
  limits: RateLimits
  trustedProxies: BlockList
}

const BEARER = /^Bearer +([\w-]+(?:\.[\w-]+\.[\w-]+)?)$/i

/**
 * Finds a request's route and, where the route requires it, its caller; checks the rate limits; sets
 * `res.locals.forwarding`.
 */
export function gatekeeper(gatekeeping: Gatekeeping): RequestHandler {
  const { callers, trustedProxies } = gatekeeping
  return (req, res, next) => {
    const route = routeOf(gatekeeping, req, res)
    const asked = { route, req, res, address: clientAddress(req, trustedProxies) }
    const token = route.access === 'public' ? undefined : bearerIn(req.headers.authorization)
    const known = token === undefined ? undefined : callers.known(token)
    // Most callers are known. They go on in the same tick, because a promise for each request costs time.
    if (known !== undefined) {
      letThrough(gatekeeping, asked, known)
      return next()
    }
    return callerFor(gatekeeping, asked, token).then((caller) => {
      letThrough(gatekeeping, asked, caller)
      next()
    })
  }
}

/** Counts the request, and sets its target and the caller that it is made for. */
function letThrough(
  { services, limits, signer }: Gatekeeping,
  { route, req, res, address }: Asked,
  known: KnownCaller | undefined,
): void {
  const instances = services[route.upstream]
  const forwarding: Forwarding = { target: instances.next(), instances, address, internalToken: undefined }
  if (known === undefined) limits.anonymous(route, req.path, addressKey(address))
  else {
    res.locals.caller = known.caller
    limits.caller(route, known.caller)
    const { caller, internalTokens: cached } = known
    forwarding.internalToken = internalTokenFor(route.upstream, { caller, cached, signer })
  }
  res.locals.forwarding = forwarding
}

function routeOf({ findRoute }: Gatekeeping, req: Request, res: Response): Route {
  const route = findRoute(req.path, req.method)
  if (route === undefined) throw new Problem('not_found', { detail: nearestPath(req.path) })
  res.locals.route = route.path
  if (!route.methods.includes(req.method))
    throw new Problem('method_not_allowed', { headers: { allow: route.methods.join(', ') } })
  if (Number(req.headers['content-length']) > route.maxBytes) throw new Problem('body_too_large')
  return route
}

interface Asked {
  route: Route
  req: Request
  res: Response
  address: string
}

/** The caller; undefined on a public path, and where an optional token is not valid. */
async function callerFor(
  { callers, limits }: Gatekeeping,
  { route, req, address }: Asked,
  token: string | undefined,
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
