import type { RequestListener } from 'node:http'
import { type PendingResponse, pathOf, type ReceivedRequest } from '@parley/shared/exchange'
import type { Log } from '@parley/shared/log'
import type { Observe } from '@parley/shared/observe-requests'
import { sendError } from '@parley/shared/problem'
import { nameRequest } from '@parley/shared/service-app'
import type { AwaitBody } from './await-body.ts'
import type { Cors } from './cors.ts'
import type { Routed } from './gatekeeper.ts'
import type { FindRoute } from './routes.ts'
import { requireUnambiguous } from './unambiguous.ts'

interface Steps {
  findRoute: FindRoute
  observe: Observe
  log: Log
  secureTransport(res: PendingResponse): void
  cors: Cors
  /** Returns nothing where the request is let through in the same tick. Throws why it is not. */
  admit(routed: Routed): Promise<void> | undefined
  awaitBody: AwaitBody
  forward(req: ReceivedRequest, res: PendingResponse, refuse: (error: unknown) => void): void
  /** Answers what no service does: health, documentation, and that there is nothing. */
  own: RequestListener
}

/**
 * The gateway's door: what is for a service goes through the steps in their order and on to it, and through nothing
 * else, because a framework in between costs a third of a request. Nothing here reads a body.
 */
export function createListener(steps: Steps): RequestListener {
  const { findRoute, observe, log, secureTransport, cors, admit, awaitBody, forward, own } = steps
  const serve = (routed: Routed, refuse: (error: unknown) => void) => {
    const { req, res, path } = routed
    nameRequest(req, res)
    observe(req, res)
    secureTransport(res)
    requireUnambiguous(req)
    if (cors(req, res, path)) return
    const proceed = () => awaitBody(req, res, () => forward(req, res, refuse))
    const admitting = admit(routed)
    if (admitting === undefined) proceed()
    else admitting.then(proceed).catch(refuse)
  }
  return (req, plain) => {
    const path = pathOf(req)
    const route = findRoute(path, req.method)
    if (route === undefined) return own(req, plain)
    const res = Object.assign(plain, { locals: {} })
    const refuse = (error: unknown) => sendError({ error, req, res, log })
    try {
      serve({ route, path, req, res }, refuse)
    } catch (error) {
      refuse(error)
    }
  }
}
