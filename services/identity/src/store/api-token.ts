import { randomBytes } from 'node:crypto'
import { tokenHash } from './session.ts'

/** A long-lived token for a program; only its hash is stored. */
export interface ApiToken {
  _id: number
  workspace: number
  /** The account that made it; the token ends with that account. */
  account: number
  role: number
  name: string
  hash: string
  createdAt: Date
  expiresAt?: Date
  /** To the minute: the gateway asks only so often. */
  lastUsedAt?: Date
}

/** By this a token is distinguished from an access token, and found by scanners of leaked secrets. */
const PREFIX = 'parley_'
const SECRET_BYTES = 32

/** A new secret, and what is stored of it. */
export function newApiSecret(): { token: string; hash: string } {
  const token = PREFIX + randomBytes(SECRET_BYTES).toString('base64url')
  return { token, hash: tokenHash(token) }
}

/** The token as callers see it: all but the secret. */
export function apiTokenView({ _id, name, role, account, createdAt, expiresAt, lastUsedAt }: ApiToken) {
  return {
    _id,
    name,
    role,
    account,
    createdAt,
    expiresAt: expiresAt ?? null,
    lastUsedAt: lastUsedAt ?? null,
  }
}
