import { z } from 'zod'

/** What identity writes into the access tokens of callers, and the gateway insists on. */
export const ACCESS_TOKEN = {
  algorithm: 'ES256',
  type: 'at+jwt',
  issuer: 'urn:parley:identity',
  audience: 'urn:parley:gateway',
  seconds: 900,
} as const

/** The claims of an access token; whatever else a caller may do is asked of identity, never read from here. */
export const accessTokenClaims = z.object({
  sub: z.string().regex(/^\d{1,16}$/),
  sid: z.string().min(1).max(64),
  jti: z.string().min(1).max(64),
  exp: z.number(),
})
