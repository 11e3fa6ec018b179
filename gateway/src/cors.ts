import type { RequestHandler } from 'express'
import type { FindRoute } from './routes.ts'

const MAX_AGE_SECONDS = 600
const ALLOWED_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, prefer, x-request-id'
const EXPOSED_HEADERS =
  'etag, idempotent-replayed, ratelimit, ratelimit-policy, retry-after, x-message-id, x-request-id'

/**
 * Lets pages of the given origins read responses, and responds to their preflights. Cookies are not used, so
 * credentials are not allowed.
 */
export function cors(options: { origins: readonly string[]; findRoute: FindRoute }): RequestHandler {
  const origins = new Set(options.origins)
  return (req, res, next) => {
    res.vary('Origin')
    const { origin } = req.headers
    if (origin === undefined || !origins.has(origin)) return next()
    res.set('access-control-allow-origin', origin)
    res.set('access-control-expose-headers', EXPOSED_HEADERS)
    if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return next()
    const asked = req.headers['access-control-request-method']
    const methods = options.findRoute(req.path, asked)?.methods ?? []
    res.set('access-control-allow-methods', methods.join(', '))
    res.set('access-control-allow-headers', ALLOWED_HEADERS)
    res.set('access-control-max-age', String(MAX_AGE_SECONDS))
    res.status(204).end()
  }
}
