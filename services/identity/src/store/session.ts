import { createHash, randomBytes } from 'node:crypto'

/** One login: the family of all tokens that come from it. It ends when it is revoked, or runs out. */
export interface Session {
  _id: string
  account: number
  /** From it and a refresh token its successor is derived; of no use without the token. */
  secret: string
  createdAt: Date
  /** When it was refreshed last; missing until then. */
  usedAt?: Date
  /** The name that the client program gives itself; 256 characters at most. */
  userAgent?: string
  /** Then the database removes it. */
  expiresAt: Date
  revokedAt?: Date
}

/** A refresh token that was given out; only its hash is stored. */
export interface RefreshToken {
  /** The token's hash. */
  _id: string
  session: string
  createdAt: Date
  expiresAt: Date
  usedAt?: Date
}

const SECRET_BYTES = 32
const DAY_MS = 86_400_000
/** How long a refresh token can be used, and with it a session that nobody refreshes lives. */
export const REFRESH_MS = 30 * DAY_MS

/** How long a session lives at most, however often it is refreshed. */
const MAX_SESSION_MS = 90 * DAY_MS

/** When a session that is refreshed now ends, and with it the refresh token that this gives out. */
export function refreshedUntil(session: Pick<Session, 'createdAt'>, now: number): Date {
  return new Date(Math.min(now + REFRESH_MS, session.createdAt.getTime() + MAX_SESSION_MS))
}

/** True if a session has ended: revoked, run out, or as old as one can be. */
export function hasEnded({ revokedAt, expiresAt, createdAt }: Session, now: number): boolean {
  const latest = Math.min(expiresAt.getTime(), createdAt.getTime() + MAX_SESSION_MS)
  return revokedAt !== undefined || latest <= now
}

const MAX_USER_AGENT = 256

/** A new session for `account`, not stored yet. */
export function newSession(account: number, lifetimeMs: number, userAgent?: string): Session {
  const now = Date.now()
  return {
    _id: randomBytes(18).toString('base64url'),
    account,
    secret: randomBytes(SECRET_BYTES).toString('base64url'),
    createdAt: new Date(now),
    expiresAt: new Date(now + lifetimeMs),
    ...(userAgent !== undefined && { userAgent: userAgent.slice(0, MAX_USER_AGENT).toWellFormed() }),
  }
}

/** A new refresh token of a session, and the record of it. */
export function newRefreshToken(session: Session): { token: string; record: RefreshToken } {
  const token = randomBytes(SECRET_BYTES).toString('base64url')
  const { _id, createdAt, expiresAt } = session
  return { token, record: { _id: tokenHash(token), session: _id, createdAt, expiresAt } }
}

/** Returns the stored form of a token that is itself random. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
