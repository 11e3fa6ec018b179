import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FindRoute } from './routes.ts'

const MAX_AGE_SECONDS = 600
const ALLOWED_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, prefer, x-request-id'
const EXPOSED_HEADERS =
  'etag, idempotent-replayed, parley-warning, ratelimit, ratelimit-policy, retry-after, x-message-id, x-request-id'

/** Sets the headers of a response by its request's origin. True when that was a preflight, which is then answered. */
export type Cors = (req: IncomingMessage, res: ServerResponse, path: string) => boolean

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
