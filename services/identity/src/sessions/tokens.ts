import { createHmac, randomBytes } from 'node:crypto'
import { ACCESS_TOKEN } from '@parley/shared/internal-token'
import jwt from 'jsonwebtoken'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { time } from '../schemas.ts'
import type { KeyRing } from '../signing-keys/key-ring.ts'
import type { Collections } from '../store/collections.ts'
import {
  newRefreshToken,
  newSession,
  REFRESH_MS,
  type RefreshToken,
  refreshedUntil,
  type Session,
  tokenHash,
} from '../store/session.ts'

export interface TokenDependencies {
  collections: Collections
  keyRing: Pick<KeyRing, 'signingKey'>
}

/** The response to a login or a refresh. */
export const sessionTokens = z
  .object({
    accessToken: z.string().describe('A bearer token for 15 minutes'),
    expiresAt: time.describe('When the access token ends'),
    tokenType: z.literal('Bearer'),
    refreshToken: z.string().optional().describe('Absent where a cookie has it'),
  })
  .meta({ id: 'SessionTokens', description: 'What a session goes on with' })

export const tokensExample = {
  accessToken: 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl',
  expiresAt: '2026-11-20T11:51:37.000Z',
  tokenType: 'Bearer',
  refreshToken: 'Zm9yLW9uZS11c2Utb25seQ',
}

export interface SessionTokens extends IssuedToken {
  tokenType: 'Bearer'
  refreshToken: string
}

/** A session that is not stored yet, and its first tokens. */
interface NewSession {
  session: Session
  refresh: RefreshToken
  tokens: SessionTokens
}

/** A session of `account`, for a program that calls itself `userAgent`, that begins once `storeSession` has stored it. */
export async function planSession(
  keyRing: Pick<KeyRing, 'signingKey'>,
  account: number,
  userAgent: string | undefined,
): Promise<NewSession> {
  const session = newSession(account, REFRESH_MS, userAgent)
  const { token: refreshToken, record: refresh } = newRefreshToken(session)
  const issued = await issueAccessToken(keyRing, { account, session: session._id })
  return { session, refresh, tokens: { ...issued, tokenType: 'Bearer', refreshToken } }
}

/** Begins a planned session, as part of `transaction`. */
export async function storeSession(
  { sessions, refreshTokens }: Pick<Collections, 'sessions' | 'refreshTokens'>,
  transaction: mongo.ClientSession,
  { session, refresh }: NewSession,
): Promise<void> {
  await sessions.insertOne(session, { session: transaction })
  await refreshTokens.insertOne(refresh, { session: transaction })
}

/** The one token that may follow on `token`: distinguished from a guess, and the same however often it is asked. */
export function successorOf(session: Session, token: string): string {
  return createHmac('sha256', Buffer.from(session.secret, 'base64url')).update(token).digest('base64url')
}

/** Issues the tokens that follow on `token`; asked again, the refresh token is the same one. */
export async function continueSession(
  { collections, keyRing }: TokenDependencies,
  session: Session,
  token: string,
): Promise<SessionTokens> {
  const refreshToken = successorOf(session, token)
  const createdAt = new Date()
  const expiresAt = refreshedUntil(session, createdAt.getTime())
  const record = { session: session._id, createdAt, expiresAt }
  await collections.refreshTokens.updateOne(
    { _id: tokenHash(refreshToken) },
    { $setOnInsert: record },
    { upsert: true },
  )
  await collections.sessions.updateOne({ _id: session._id }, { $max: { expiresAt, usedAt: createdAt } })
  const issued = await issueAccessToken(keyRing, { account: session.account, session: session._id })
  return { ...issued, tokenType: 'Bearer', refreshToken }
}

interface IssuedToken {
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
