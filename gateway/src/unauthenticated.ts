import { Problem } from '@parley/shared/problem'

/** Why a request has no caller. */
export type TokenRefusal = 'missing' | 'malformed' | 'expired' | 'revoked'

const DETAILS: Record<TokenRefusal, string> = {
  missing: 'The header Authorization is missing: send Bearer and a token.',
  malformed: 'The token is malformed, or not one of this system.',
  expired: 'The token expired',
  revoked: 'The token was revoked, or its session has ended.',
}

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
