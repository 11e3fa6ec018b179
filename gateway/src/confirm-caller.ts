import { createHash } from 'node:crypto'
import { ACCESS_TOKEN } from '@parley/shared/access-token'
import type { InternalClient } from '@parley/shared/internal-client'
import { type Caller, callerSchema } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { z } from 'zod'
import type { AccessTokens } from './access-tokens.ts'
import type { InternalTokens } from './internal-tokens.ts'

/** Who is behind a token, as identity confirmed it. Times are on the clock of `performance.now()`. */
export interface KnownCaller {
  caller: Caller
  /** After that identity is asked again. */
  confirmedUntil: number
  /** The last moment at which identity's earlier answer may stand in for one that can't be had. */
  usableUntil: number
  /** When identity was asked: what changed later is not in its answer. */
  askedAt: number
  internalTokens: InternalTokens
}

export interface ConfirmingDependencies {
  accessTokens: AccessTokens
  identity: Pick<InternalClient, 'post'>
}

const API_TOKEN = /^parley_[\w-]{43}$/
const CONFIRMED_MS = 60_000

const introspection = z.discriminatedUnion('active', [
  z.object({ active: z.literal(true), caller: callerSchema, expiresAt: z.number().optional() }),
  z.object({ active: z.literal(false) }),
])

/**
 * Verifies a token and asks identity whether it still holds and for whom. Throws `unauthenticated`, or
 * `unavailable` when identity can't be asked.
 */
export async function confirmCaller(
  { accessTokens, identity }: ConfirmingDependencies,
  token: string,
): Promise<KnownCaller> {
  const { question, usableMs } = await questionAbout(accessTokens, token)
  const askedAt = performance.now()
  const answer = introspection.safeParse(await identity.post('/internal/introspect', question))
  if (!answer.success) throw new Problem('unavailable', { cause: answer.error })
  if (!answer.data.active) throw new Problem('unauthenticated')
  const { caller, expiresAt = Number.POSITIVE_INFINITY } = answer.data
  const usableUntil = askedAt + Math.min(usableMs, expiresAt - Date.now())
  const confirmedUntil = Math.min(askedAt + CONFIRMED_MS, usableUntil)
  return { caller, confirmedUntil, usableUntil, askedAt, internalTokens: {} }
}

/** What to ask identity about a token, and for how long its answer can be used at most. */
async function questionAbout(accessTokens: AccessTokens, token: string) {
  if (API_TOKEN.test(token)) {
    const tokenHash = createHash('sha256').update(token).digest('base64url')
    return { question: { tokenHash }, usableMs: ACCESS_TOKEN.seconds * 1000 }
  }
  const { account, session, expiresAt } = await accessTokens.verify(token)
  return { question: { account, session }, usableMs: expiresAt - Date.now() }
}
