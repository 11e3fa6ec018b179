import type { BlockList } from 'node:net'
import { addressKey } from '@parley/shared/address-key'
import type { InternalSigner } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { Request, RequestHandler, Response } from 'express'
import type { Callers } from './callers.ts'
import { clientAddress } from './client-address.ts'
import type { KnownCaller } from './confirm-caller.ts'
import type { Copies } from './copies.ts'
import type { Forwarding } from './forward.ts'
import { internalTokenFor } from './internal-tokens.ts'
import type { RateLimits } from './rate-limit/rate-limits.ts'
import type { Route, Upstream } from './routes.ts'

interface Gatekeeping {
  findRoute(path: string): Route | undefined
  services: Record<Upstream, Copies>
  callers: Callers
  signer: InternalSigner
  limits: RateLimits
  trustedProxies: BlockList
}

const BEARER = /^Bearer +([\w-]+(?:\.[\w-]+\.[\w-]+)?)$/i

/**
 * Finds a request's route, who is calling where the route wants to know, and whether they have called too
 * often; sets `res.locals.forwarding`.
 */
export function gatekeeper(gatekeeping: Gatekeeping): RequestHandler {
  const { callers, trustedProxies } = gatekeeping
  return (req, res, next) => {
    const route = routeOf(gatekeeping, req, res)
    const asked = { route, req, res, address: clientAddress(req, trustedProxies) }
    const token = route.access === 'public' ? undefined : bearerIn(req.headers.authorization)
    const known = token === undefined ? undefined : callers.known(token)
    // Most are known, and go on at once: a turn of the queue for each request adds up.
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

/** Counts the request and says where it goes, and on whose behalf. */
function letThrough(
  { services, limits, signer }: Gatekeeping,
  { route, req, res, address }: Asked,
  known: KnownCaller | undefined,
): void {
  const copies = services[route.upstream]
  const forwarding: Forwarding = { target: copies.next(), copies, address, internalToken: undefined }
  if (known === undefined) limits.anonymous(route, req.path, addressKey(address))
  else {
    res.locals.caller = known.caller
    limits.caller(route, known.caller)
    const { caller, internalTokens: held } = known
    forwarding.internalToken = internalTokenFor(route.upstream, { caller, held, signer })
  }
  res.locals.forwarding = forwarding
}

function routeOf({ findRoute }: Gatekeeping, req: Request, res: Response): Route {
  const route = findRoute(req.path)
  if (route === undefined) throw new Problem('not_found')
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

/** Who is calling; nobody on a public path, nor where a token is optional and does not hold. */
async function callerFor(
  { callers, limits }: Gatekeeping,
  { route, address }: Asked,
  token: string | undefined,
): Promise<KnownCaller | undefined> {
  if (route.access === 'public') return undefined
  try {
    if (token === undefined) throw new Problem('unauthenticated')
    limits.unknownToken(addressKey(address))
    return await callers.resolve(token)
  } catch (error) {
    const refused = error instanceof Problem && error.code === 'unauthenticated'
    if (route.access === 'optional' && refused) return undefined
    throw error
  }
}

const bearerIn = (authorization = ''): string | undefined => BEARER.exec(authorization)?.[1]
