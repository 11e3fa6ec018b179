import { Router } from 'express'
import type { KeyRing } from './key-ring.ts'

const MAX_AGE_SECONDS = 60

/** `GET /.well-known/jwks.json`: the public keys that access tokens are verified with. */
export function jwksRoute({ keyRing }: { keyRing: Pick<KeyRing, 'jwks'> }): Router {
  const router = Router({ caseSensitive: true })
  router.get('/.well-known/jwks.json', async (_req, res) => {
    const jwks = await keyRing.jwks()
    res.set('cache-control', `public, max-age=${MAX_AGE_SECONDS}`).json(jwks)
  })
  return router
}
