import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type PendingResponse, pathOf, type ReceivedRequest } from '@parley/shared/exchange'
import type { Log } from '@parley/shared/log'
import type { Observe } from '@parley/shared/observe-requests'
import { Problem, sendError } from '@parley/shared/problem'
import { nameRequest } from '@parley/shared/service-app'
import type { AwaitBody } from './await-body.ts'
import type { Routed } from './gatekeeper.ts'
import type { FindRoute } from './routes.ts'

const MAX_AGE_SECONDS = 600

const ALLOWED_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, prefer, x-request-id'

const EXPOSED_HEADERS =
  'etag, idempotent-replayed, parley-warning, ratelimit, ratelimit-policy, retry-after, x-message-id, x-request-id'

// RFC 3986's characters of a path; everything else has to come percent-encoded.
const PATH = /^(?:\/(?:[\w\-.~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)+$/
const QUERY = /^[\x21\x22\x24-\x7e]*$/
const EMPTY_OR_DOTS = /\/(?:\.{0,2})(?=\/)|\/\.{1,2}$/
// Unreserved characters, slash, backslash and control characters: encoded, they only serve to hide something.
const HIDDEN = /%(?:[01][0-9a-f]|2[def]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef])/i
const AUTHORIZATION = 'authorization'

interface Steps {
  findRoute: FindRoute
  observe: Observe
  log: Log
  secureTransport(res: PendingResponse): void
  cors: Cors
  /** Returns nothing where the request is let through in the same tick. Throws why it is not. */
  admit(routed: Routed): Promise<void> | undefined
  awaitBody: AwaitBody
  /** Bounds what is still to come of a request once it has its response. */
  boundRest(req: IncomingMessage, res: ServerResponse): void
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
    steps.boundRest(req, plain)
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

/**
 * Refuses what two readers may read in two ways: a target that is not canonical (absolute forms among them), a body in
 * any transfer coding but `chunked`, and a second `Authorization`, of which each reader might take another one.
 */
export function requireUnambiguous({ url = '', headers, rawHeaders }: IncomingMessage): void {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new Problem('malformed_request')
  let authorizations = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (isAuthorization(rawHeaders[at])) authorizations++
  if (authorizations > 1) throw new Problem('malformed_request')
  if (!isCanonical(url)) throw new Problem('invalid_path')
}

function isAuthorization(name = ''): boolean {
  return name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION
}

/** True when a request target is in the one form that every part of the system reads in the same way. */
export function isCanonical(url: string): boolean {
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  if (at !== -1 && !QUERY.test(url.slice(at))) return false
  if (!PATH.test(path) || EMPTY_OR_DOTS.test(path)) return false
  return !path.includes('%') || (!HIDDEN.test(path) && isUtf8(path))
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Sets the headers of a response by its request's origin. True when that was a preflight, which is then answered. */
type Cors = (req: IncomingMessage, res: ServerResponse, path: string) => boolean

/**
 * Lets pages of the given origins read responses, and responds to their preflights. The only cookie is the
 * console’s, which is of this origin, so credentials are not allowed.
 */
export function createCors(options: { origins: readonly string[]; findRoute: FindRoute }): Cors {
  if (options.origins.length === 0) return () => false
  const origins = new Set(options.origins)
  return (req, res, path) => {
    res.setHeader('vary', 'Origin')
    const { origin, 'access-control-request-method': asked } = req.headers
    if (origin === undefined || !origins.has(origin)) return false
    res.setHeader('access-control-allow-origin', origin)
    res.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
    if (req.method !== 'OPTIONS' || asked === undefined) return false
    const methods = options.findRoute(path, asked)?.methods ?? []
    res.setHeader('access-control-allow-methods', methods.join(', '))
    res.setHeader('access-control-allow-headers', ALLOWED_HEADERS)
    res.setHeader('access-control-max-age', String(MAX_AGE_SECONDS))
    res.statusCode = 204
    res.end()
    return true
  }
}
