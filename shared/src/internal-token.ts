import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { PublicJwk } from './config.ts'
import { Problem } from './problem.ts'

/** The constants that identity writes into the access tokens of callers, and the gateway insists on. */
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

export const SERVICES = [
  'gateway',
  'identity',
  'webhook',
  'configuration',
  'dispatcher',
  'campaigns',
] as const
export type ServiceName = (typeof SERVICES)[number]

/** How long an internal token is valid, in seconds. */
export const INTERNAL_TOKEN_SECONDS = 60
const CLOCK_TOLERANCE_SECONDS = 5
const CACHED_TOKENS = 10_000

/** The caller as it travels inside an internal token. */
export const callerSchema = z.object({
  account: z.object({
    _id: z.number(),
    username: z.string(),
    name: z.string(),
    profile: z.number(),
    context: z.record(z.string(), z.unknown()),
  }),
  workspace: z.object({ _id: z.number(), name: z.string(), namespace: z.string(), host: z.string() }),
  role: z.object({ _id: z.number(), name: z.string(), version: z.number() }),
  /** The login that the caller's access token belongs to. */
  session: z.string().optional(),
  /** The API token that the caller came with, instead of a login. */
  token: z.number().optional(),
})

/** The account on whose behalf a request is made, as the gateway verified it. */
export type Caller = z.output<typeof callerSchema>

/** The sender of a verified internal token; `caller` is there when the gateway speaks for an account. */
interface InternalIdentity {
  issuer: ServiceName
  caller?: Caller
}

export interface InternalSigner {
  issuer: ServiceName
  /** Signs a token for the service named `audience`. */
  sign(options: { audience: ServiceName; caller?: Caller }): string
}

/** Makes the signer of one service from its private JWK (its `kid` names the service). */
export function createInternalSigner(jwk: PublicJwk & { d: string }): InternalSigner {
  const issuer = z.enum(SERVICES).parse(jwk.kid)
  const key = createPrivateKey({ key: jwk, format: 'jwk' })
  return {
    issuer,
    sign: ({ audience, caller }) =>
      jwt.sign(caller ? { caller } : {}, key, {
        algorithm: 'ES256',
        keyid: issuer,
        issuer,
        audience,
        expiresIn: INTERNAL_TOKEN_SECONDS,
        header: { alg: 'ES256', typ: 'at+jwt', kid: issuer },
      }),
  }
}

export interface InternalVerifier {
  /**
   * Throws `unauthenticated` for anything but a valid token for this service; `unavailable` for one whose time is
   * over or still to come: the clocks of two services differ, and whoever called has nothing to put right.
   */
  verify(authorization: string | undefined): InternalIdentity
}

/**
 * Verifies tokens addressed to `audience`. A token is signed by the key of the service it names as its
 * issuer; only the gateway may speak for a caller. Verified tokens are remembered until they expire.
 */
export function createInternalVerifier(options: {
  audience: ServiceName
  jwks: { keys: PublicJwk[] }
}): InternalVerifier {
  const keys = new Map<string, KeyObject>(
    options.jwks.keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]),
  )
  const verified = new LRUCache<string, Verified>({ max: CACHED_TOKENS })
  return {
    verify(authorization) {
      const known = verified.get(authorization ?? '')
      if (known !== undefined && known.expiresAt * 1000 > Date.now()) return known.identity
      const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/.exec(authorization ?? '')?.[1]
      if (authorization === undefined || token === undefined) throw new Problem('unauthenticated')
      const found = verifyToken(token, keys, options.audience)
      verified.set(authorization, found)
      return found.identity
    },
  }
}

interface Verified {
  identity: InternalIdentity
  /** In seconds since 1970. */
  expiresAt: number
}

function verifyToken(token: string, keys: Map<string, KeyObject>, audience: ServiceName): Verified {
  try {
    const header = jwt.decode(token, { complete: true })?.header
    const issuer = z.enum(SERVICES).parse(header?.kid)
    const key = keys.get(issuer)
    if (header?.typ !== 'at+jwt' || key === undefined) throw new Error('unknown key or type')
    const payload = jwt.verify(token, key, {
      algorithms: ['ES256'],
      audience,
      issuer,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    })
    if (typeof payload === 'string' || payload.exp === undefined) throw new Error('no expiry')
    const caller = issuer === 'gateway' ? callerSchema.optional().parse(payload.caller) : undefined
    const identity: InternalIdentity = caller === undefined ? { issuer } : { issuer, caller }
    return { identity, expiresAt: payload.exp }
  } catch (cause) {
    const isOutOfTime = cause instanceof jwt.TokenExpiredError || cause instanceof jwt.NotBeforeError
    if (isOutOfTime) throw new Problem('unavailable', { detail: 'The clocks of two services differ.', cause })
    throw new Problem('unauthenticated', { cause })
  }
}

const TOLERATED_MS = 1_000

/** How the machine's clock is set against the time that merely goes on, in milliseconds; see {@link wasClockSet}. */
export const clockSetting = (): number => Date.now() - performance.now()

/** True when the clock was set since it had this setting, by more than a second; what carries its time is wrong then. */
export const wasClockSet = (since: number): boolean => Math.abs(clockSetting() - since) > TOLERATED_MS
