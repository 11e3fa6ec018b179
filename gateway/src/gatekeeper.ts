import { Problem } from '@parley/shared/problem'
import type { RequestHandler } from 'express'
import type { Callers } from './callers.ts'
import type { Forwarding } from './forward.ts'
import type { Route, Upstream } from './routes.ts'

const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i

/** Finds a request's route, and who is calling where the route wants to know; sets `res.locals.forwarding`. */
export function gatekeeper(options: {
  findRoute(path: string): Route | undefined
  targets: Record<Upstream, URL>
  callers: Callers
}): RequestHandler {
  const { findRoute, targets, callers } = options
  return async (req, res, next) => {
    const route = findRoute(req.path)
    if (route === undefined) throw new Problem('not_found')
    if (!route.methods.includes(req.method))
      throw new Problem('method_not_allowed', { headers: { allow: route.methods.join(', ') } })
    if (Number(req.headers['content-length']) > route.maxBytes) throw new Problem('body_too_large')
    const forwarding: Forwarding = { target: targets[route.upstream], internalToken: undefined }
    if (route.access === 'authenticated') {
      const known = await callers.resolve(bearerOf(req.headers.authorization))
      res.locals.caller = known.caller
      forwarding.internalToken = callers.internalToken(known, route.upstream)
    }
    res.locals.forwarding = forwarding
    next()
  }
}

function bearerOf(authorization: string | undefined): string {
  const token = BEARER.exec(authorization ?? '')?.[1]
  if (token === undefined) throw new Problem('unauthenticated')
  return token
}
