import { ACCESS_TOKEN, accessTokenClaims } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import jwt from 'jsonwebtoken'
import type { KeySet } from './key-set.ts'

const DETAILS: Record<TokenRefusal, string> = {
  missing: 'The header Authorization is missing: send Bearer and a token.',
  malformed: 'The token is malformed, or not one of this system.',
  expired: 'The token expired',
  revoked: 'The token was revoked, or its session has ended.',
}

/** The account that an access token names, and until when, in milliseconds since 1970. */
interface VerifiedToken {
  account: number
  session: string
  expiresAt: number
}

export interface AccessTokens {
  /** Throws `unauthenticated` for anything but a valid token, `unavailable` when the keys can't be had. */
  verify(token: string): Promise<VerifiedToken>
}

const CLOCK_TOLERANCE_SECONDS = 5

/**
 * Verifies access tokens with identity's published keys alone. Algorithm and type are pinned, so neither
 * `alg` nor a key that the token itself brings along can choose how it is checked.
 */
export function createAccessTokens({ keySet }: { keySet: KeySet }): AccessTokens {
  return {
    verify: async (token) => {
      const header = headerOf(token)
      const key = header && (await keySet.key(header.kid))
      if (key === undefined) throw unauthenticated('malformed')
      try {
        const payload = jwt.verify(token, key, {
          algorithms: [ACCESS_TOKEN.algorithm],
          issuer: ACCESS_TOKEN.issuer,
          audience: ACCESS_TOKEN.audience,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
        })
        const { sub, sid, exp } = accessTokenClaims.parse(payload)
        return { account: Number(sub), session: sid, expiresAt: exp * 1000 }
      } catch (cause) {
        // It is said only of a token whose signature is right.
        if (cause instanceof jwt.TokenExpiredError)
          throw unauthenticated('expired', { at: cause.expiredAt.getTime(), cause })
        throw unauthenticated('malformed', { cause })
      }
    },
  }
}

/** The header when its algorithm and type are ours and it demands nothing beyond them. */
function headerOf(token: string): { kid: string } | undefined {
  try {
    const header = jwt.decode(token, { complete: true })?.header
    const { algorithm, type } = ACCESS_TOKEN
    if (header?.alg !== algorithm || header.typ !== type || header.crit !== undefined) return undefined
    return typeof header.kid === 'string' ? { kid: header.kid } : undefined
  } catch {
    return undefined
  }
}

/** Why a request has no caller. */
type TokenRefusal = 'missing' | 'malformed' | 'expired' | 'revoked'

/**
 * The refusal of a request without a valid token, as RFC 6750 has it: without an error code where no token came, else
 * with `invalid_token` and why. `at` is when it expired, in milliseconds since 1970.
 */
export function unauthenticated(
  refusal: TokenRefusal,
  { at, cause }: { at?: number; cause?: unknown } = {},
): Problem {
  const detail = at === undefined ? DETAILS[refusal] : `${DETAILS[refusal]} at ${new Date(at).toISOString()}.`
  const error = refusal === 'missing' ? '' : `, error="invalid_token", error_description="${detail}"`
  return new Problem('unauthenticated', {
    detail,
    headers: { 'www-authenticate': `Bearer realm="parley"${error}` },
    cause,
  })
}
