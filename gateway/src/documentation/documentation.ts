import { methodNotAllowed } from '@parley/shared/problem'
import { type Request, type RequestHandler, Router } from 'express'
import { createAssets } from './assets.ts'
import { POLICY } from './page.ts'

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
  // To be asked for again each time, at the cost of a 304.
  'cache-control': 'public, no-cache',
}

/**
 * `GET /openapi.json`, and the same for people at `/docs`, with all that the page needs. No token is looked at;
 * `admit` throws for who asks too often.
 */
export function documentation({ admit }: { admit(req: Request): void }): Router {
  const serve = serving(admit)
  const router = Router({ caseSensitive: true })
  for (const path of ['/openapi.json', '/docs']) {
    router.route(path).get(serve).all(methodNotAllowed('GET', 'HEAD'))
  }
  router.use('/docs', (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') return next()
    return serve(req, res, next)
  })
  return router
}

function serving(admit: (req: Request) => void): RequestHandler {
  const assets = createAssets()
  return async (req, res, next) => {
    const asset = await assets(req.baseUrl + req.path)
    if (asset === undefined) return next('route')
    admit(req)
    res.set({ ...HEADERS, 'content-type': asset.type, etag: asset.etag })
    if (req.headers['if-none-match'] === asset.etag) return void res.status(304).end()
    const zipped = /\bgzip\b/.test(req.headers['accept-encoding'] ?? '')
    if (zipped) res.set('content-encoding', 'gzip')
    const body = zipped ? asset.gzipped : asset.body
    res.set('content-length', String(body.length))
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}
