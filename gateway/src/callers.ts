import { createHash } from 'node:crypto'
import type { InternalClient } from '@parley/shared/internal-client'
import {
  ACCESS_TOKEN,
  type Caller,
  callerSchema,
  clockSetting,
  INTERNAL_TOKEN_SECONDS,
  type InternalSigner,
  wasClockSet,
} from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import { isUnavailable } from '@parley/shared/unavailable'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { type AccessTokens, unauthenticated } from './access-tokens.ts'
import { createSingleFlight } from './key-set.ts'
import type { Upstream } from './routes.ts'

/** The caller of a token, as identity confirmed it. Times are on the clock of `performance.now()`. */
export interface KnownCaller {
  caller: Caller
  /** Identity is asked again after this time. */
  confirmedUntil: number
  /** Until this time identity's earlier response is used while identity is unavailable. */
  usableUntil: number
  /** When identity was asked: what changed later is not in its reply. */
  askedAt: number
  internalTokens: InternalTokens
}

interface ConfirmingDependencies {
  accessTokens: AccessTokens
  identity: Pick<InternalClient, 'post'>
}

/** The internal tokens of one caller, by the service that they are for. */
type InternalTokens = Partial<Record<Upstream, { token: string; renewAt: number; clock: number }>>

/** A change that identity reports. It concerns all callers of a session, account, role, workspace or API token. */
export interface Forgettable {
  kind: string
  key: string
  /** When it was first seen, on the clock of `performance.now()`. */
  seenAt: number
}

export interface Callers {
  /** The caller of a token, if identity confirmed it in the last minute. */
  known(token: string): KnownCaller | undefined
  /** Asks identity. Throws `unauthenticated`, or `unavailable` when it can't be asked. */
  resolve(token: string): Promise<KnownCaller>
  /** Forgets each caller that a change concerns and that was confirmed before the change was seen. */
  forget(changes: readonly Forgettable[]): void
  forgetAll(): void
  /** True when there is a caller who can go on while identity is unavailable. */
  isWarm(): boolean
}

const CACHED = 20_000
const RETRY_MS = 1_000
const RENEWAL_MARGIN_SECONDS = 15
const API_TOKEN = /^parley_[\w-]{43}$/
const CONFIRMED_MS = 60_000

const introspection = z.discriminatedUnion('active', [
  z.object({ active: z.literal(true), caller: callerSchema, expiresAt: z.number().optional() }),
  z.object({ active: z.literal(false), endedAt: z.number().optional() }),
])

/**
 * Caches the callers of the last 20,000 tokens. What identity confirmed is valid for 60 s; after that identity is asked
 * again, and while it is unavailable a caller goes on until the token itself ends, 15 minutes at most.
 */
export function createCallers(dependencies: ConfirmingDependencies): Callers {
  const callers = new LRUCache<string, KnownCaller>({ max: CACHED })
  const once = createSingleFlight<KnownCaller>()
  const confirm = async (token: string, known: KnownCaller | undefined) => {
    try {
      const confirmed = await confirmCaller(dependencies, token)
      callers.set(token, confirmed)
      return confirmed
    } catch (error) {
      if (known !== undefined && isUnavailable(error) && goesOn(known)) return known
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
    forget: (changes) => {
      if (changes.length === 0) return
      const seenAt = timesSeen(changes)
      for (const [token, known] of callers.entries()) if (isTouched(known, seenAt)) callers.delete(token)
    },
    forgetAll: () => callers.clear(),
    isWarm: () => {
      const now = performance.now()
      return callers.values().some(({ usableUntil }) => now < usableUntil)
    },
  }
}

/** Lets a caller go on for another second while identity is unavailable and the token is valid. */
function goesOn(known: KnownCaller): boolean {
  const now = performance.now()
  known.confirmedUntil = Math.min(now + RETRY_MS, known.usableUntil)
  return now < known.usableUntil
}

/** When each change was seen, by what it concerns. */
export function timesSeen(changes: readonly Forgettable[]): Map<string, number> {
  return new Map(changes.map(({ kind, key, seenAt }) => [`${kind} ${key}`, seenAt]))
}

/** True when a change concerns a caller, and came after it was confirmed. */
export function isTouched({ caller, askedAt }: KnownCaller, seenAt: ReadonlyMap<string, number>): boolean {
  return keysOf(caller).some((key) => askedAt <= (seenAt.get(key) ?? Number.NEGATIVE_INFINITY))
}

function keysOf({ account, workspace, role, session, token }: Caller): string[] {
  const ids = { account: account._id, workspace: workspace._id, role: role._id, session, token }
  return Object.entries(ids).map(([kind, id]) => `${kind} ${id}`)
}

/**
 * Verifies a token and asks identity whether it is still valid and whose it is. Throws `unauthenticated`, or
 * `unavailable` when identity can't be asked.
 */
async function confirmCaller(
  { accessTokens, identity }: ConfirmingDependencies,
  token: string,
): Promise<KnownCaller> {
  const { question, usableMs } = await questionAbout(accessTokens, token)
  const askedAt = performance.now()
  const reply = introspection.safeParse(await identity.post('/internal/introspect', question))
  if (!reply.success) throw new Problem('unavailable', { cause: reply.error })
  if (!reply.data.active) {
    const { endedAt: at } = reply.data
    throw at === undefined ? unauthenticated('revoked') : unauthenticated('expired', { at })
  }
  const { caller, expiresAt = Number.POSITIVE_INFINITY } = reply.data
  const usableUntil = askedAt + Math.min(usableMs, expiresAt - Date.now())
  const confirmedUntil = Math.min(askedAt + CONFIRMED_MS, usableUntil)
  return { caller, confirmedUntil, usableUntil, askedAt, internalTokens: {} }
}

/** Resolves to the question for identity about a token, and to how long at most its response can be used. */
async function questionAbout(accessTokens: AccessTokens, token: string) {
  if (API_TOKEN.test(token)) {
    const tokenHash = createHash('sha256').update(token).digest('base64url')
    return { question: { tokenHash }, usableMs: ACCESS_TOKEN.seconds * 1000 }
  }
  const { account, session, expiresAt } = await accessTokens.verify(token)
  return { question: { account, session }, usableMs: expiresAt - Date.now() }
}

/** The token for one service from `cached`. It is signed again 15 s before it ends, and when the clock was set. */
export function internalTokenFor(
  audience: Upstream,
  {
    caller,
    cached,
    signer,
  }: { caller: Caller; cached: InternalTokens; signer: Pick<InternalSigner, 'sign'> },
): string {
  const now = performance.now()
  const known = cached[audience]
  if (known !== undefined && now < known.renewAt && !wasClockSet(known.clock)) return known.token
  const token = signer.sign({ audience, caller })
  const renewAt = now + (INTERNAL_TOKEN_SECONDS - RENEWAL_MARGIN_SECONDS) * 1000
  cached[audience] = { token, renewAt, clock: clockSetting() }
  return token
}
