import { randomBytes } from 'node:crypto'
import { ACCESS_TOKEN } from '@parley/shared/access-token'
import jwt from 'jsonwebtoken'
import type { KeyRing } from '../signing-keys/key-ring.ts'

export interface IssuedToken {
  accessToken: string
  expiresAt: string
}

/** Signs an access token for 15 minutes. It says who is calling, and nothing of what they may do. */
export async function issueAccessToken(
  keyRing: Pick<KeyRing, 'signingKey'>,
  { account, session }: { account: number; session: string },
): Promise<IssuedToken> {
  const { kid, key } = await keyRing.signingKey()
  const { algorithm, type, issuer, audience, seconds } = ACCESS_TOKEN
  const iat = Math.floor(Date.now() / 1000)
  const jti = randomBytes(12).toString('base64url')
  const accessToken = jwt.sign({ sid: session, jti, iat, exp: iat + seconds }, key, {
    algorithm,
    issuer,
    audience,
    subject: String(account),
    header: { alg: algorithm, typ: type, kid },
  })
  return { accessToken, expiresAt: new Date((iat + seconds) * 1000).toISOString() }
}
