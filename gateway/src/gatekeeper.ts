import type { BlockList } from 'node:net'
import type { InternalSigner } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { Request, RequestHandler, Response } from 'express'
import type { Callers } from './callers.ts'
import { addressKey, clientAddress } from './client-address.ts'
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
  const { services, signer, limits, trustedProxies } = gatekeeping
  return async (req, res, next) => {
    const route = routeOf(gatekeeping, req, res)
    const address = clientAddress(req, trustedProxies)
    const known = await callerFor(gatekeeping, { route, req, address })
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
    next()
  }
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
  address: string
}

/** Who is calling; nobody on a public path, nor where a token is optional and does not hold. */
async function callerFor(
  { callers, limits }: Gatekeeping,
  { route, req, address }: Asked,
): Promise<KnownCaller | undefined> {
  if (route.access === 'public') return undefined
  try {
    const token = bearerOf(req.headers.authorization)
    const known = callers.known(token)
    if (known !== undefined) return known
    limits.unknownToken(addressKey(address))
    return await callers.resolve(token)
  } catch (error) {
    const refused = error instanceof Problem && error.code === 'unauthenticated'
    if (route.access === 'optional' && refused) return undefined
    throw error
  }
}

function bearerOf(authorization: string | undefined): string {
  const token = BEARER.exec(authorization ?? '')?.[1]
  if (token === undefined) throw new Problem('unauthenticated')
  return token
}
