import { createHash } from 'node:crypto'
import { ACCESS_TOKEN } from '@parley/shared/access-token'
import type { InternalClient } from '@parley/shared/internal-client'
import {
  type Caller,
  callerSchema,
  INTERNAL_TOKEN_SECONDS,
  type InternalSigner,
} from '@parley/shared/internal-token'
import { isUnavailable, Problem } from '@parley/shared/problem'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { AccessTokens } from './access-tokens.ts'
import type { Upstream } from './routes.ts'
import { createSingleFlight } from './single-flight.ts'

/** Who is behind a token, as identity confirmed it. */
export interface KnownCaller {
  caller: Caller
  /** On the clock of `performance.now()`; after that identity is asked again. */
  confirmedUntil: number
  /** The last moment at which identity's earlier answer may stand in for one that can't be had. */
  usableUntil: number
  /** When identity was asked: what changed later is not in its answer. */
  askedAt: number
  internalTokens: Partial<Record<Upstream, { token: string; renewAt: number }>>
}

/** What identity says to forget: all callers of a session, an account, a role or an API token. */
export interface Forgettable {
  kind: string
  key: string
}

export interface Callers {
  /** Who is behind a token, if that was confirmed within the last minute. */
  known(token: string): KnownCaller | undefined
  /** Asks identity. Throws `unauthenticated`, or `unavailable` when it can't be asked. */
  resolve(token: string): Promise<KnownCaller>
  /** The token that speaks for the caller to one service. */
  internalToken(known: KnownCaller, audience: Upstream): string
  /** Forgets whoever was asked about before `seenAt` and is touched by one of the changes. */
  forget(changes: readonly (Forgettable & { seenAt: number })[]): void
  forgetAll(): void
}

const API_TOKEN = /^parley_[\w-]{43}$/
const CACHED = 20_000
const CONFIRMED_MS = 60_000
const RETRY_MS = 1_000
const RENEWAL_MARGIN_SECONDS = 15

const introspection = z.discriminatedUnion('active', [
  z.object({ active: z.literal(true), caller: callerSchema, expiresAt: z.number().optional() }),
  z.object({ active: z.literal(false) }),
])

/**
 * Keeps who is behind the last 20,000 tokens. What identity confirmed holds for 60 s; after that it is asked
 * again, and while it can't be reached a caller goes on until the token itself ends, 15 minutes at most.
 */
export function createCallers(dependencies: {
  accessTokens: AccessTokens
  identity: Pick<InternalClient, 'post'>
  signer: InternalSigner
}): Callers {
  const { accessTokens, identity, signer } = dependencies
  const callers = new LRUCache<string, KnownCaller>({ max: CACHED })
  const once = createSingleFlight<KnownCaller>()

  const ask = async (token: string): Promise<KnownCaller> => {
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
  const confirm = async (token: string, known: KnownCaller | undefined) => {
    try {
      const confirmed = await ask(token)
      callers.set(token, confirmed)
      return confirmed
    } catch (error) {
      const now = performance.now()
      if (known !== undefined && isAway(error) && now < known.usableUntil) {
        known.confirmedUntil = Math.min(now + RETRY_MS, known.usableUntil)
        return known
      }
      callers.delete(token)
      throw error
    }
  }
  return {
    known: (token) => {
      const known = callers.get(token)
      return known !== undefined && performance.now() < known.confirmedUntil ? known : undefined
    },
    resolve: (token) => once(token, () => confirm(token, callers.get(token))),
    internalToken: (known, audience) => {
      const held = known.internalTokens[audience]
      const now = performance.now()
      if (held !== undefined && now < held.renewAt) return held.token
      const token = signer.sign({ audience, caller: known.caller })
      const renewAt = now + (INTERNAL_TOKEN_SECONDS - RENEWAL_MARGIN_SECONDS) * 1000
      known.internalTokens[audience] = { token, renewAt }
      return token
    },
    forget: (changes) => {
      const seenAt = new Map(changes.map(({ kind, key, seenAt }) => [`${kind} ${key}`, seenAt]))
      if (seenAt.size === 0) return
      for (const [token, { caller, askedAt }] of callers.entries()) {
        const touched = keysOf(caller).some((key) => askedAt <= (seenAt.get(key) ?? Number.NEGATIVE_INFINITY))
        if (touched) callers.delete(token)
      }
    },
    forgetAll: () => callers.clear(),
  }
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

function keysOf({ account, workspace, role, session, token }: Caller): string[] {
  const ids = { account: account._id, workspace: workspace._id, role: role._id, session, token }
  return Object.entries(ids).map(([kind, id]) => `${kind} ${id}`)
}

function isAway(error: unknown): boolean {
  return (error instanceof Problem && error.code === 'unavailable') || isUnavailable(error)
}
