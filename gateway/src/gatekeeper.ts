import { Problem } from '@parley/shared/problem'
import type { RequestHandler } from 'express'
import type { Callers, KnownCaller } from './callers.ts'
import type { Forwarding } from './forward.ts'
import type { Route, Upstream } from './routes.ts'

const BEARER = /^Bearer +([\w-]+(?:\.[\w-]+\.[\w-]+)?)$/i

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
    const known = await callerFor(route, req.headers.authorization, callers)
    if (known !== undefined) {
      res.locals.caller = known.caller
      forwarding.internalToken = callers.internalToken(known, route.upstream)
    }
    res.locals.forwarding = forwarding
    next()
  }
}

function callerFor(
  { access }: Route,
  authorization: string | undefined,
  callers: Callers,
): KnownCaller | undefined | Promise<KnownCaller | undefined> {
  if (access === 'public' || (access === 'optional' && authorization === undefined)) return undefined
  if (access === 'authenticated') return callers.resolve(bearerOf(authorization))
  return callerIfAny(authorization, callers)
}

async function callerIfAny(authorization: string | undefined, callers: Callers) {
  try {
    return await callers.resolve(bearerOf(authorization))
  } catch (error) {
    if (error instanceof Problem && error.code === 'unauthenticated') return undefined
    throw error
  }
}

function bearerOf(authorization: string | undefined): string {
  const token = BEARER.exec(authorization ?? '')?.[1]
  if (token === undefined) throw new Problem('unauthenticated')
  return token
}
