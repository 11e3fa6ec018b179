import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { route } from '@parley/shared/openapi/route'
import type { Keyring } from '@parley/shared/sealed-value'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { AT } from '../schemas.ts'
import { ID_ONLY } from '../store/collections.ts'
import type { KeyRingDocument, Sealed, StoredKey } from '../store/key-ring.ts'

/** The document that holds the keys of access tokens. */
export const KEY_RING = 'access-tokens'

/** Makes the first keys. Of several processes that start at once, one wins and the others take its keys. */
export async function ensureKeyRing(rings: mongo.Collection<KeyRingDocument>, keys: Keyring): Promise<void> {
  if ((await rings.findOne({ _id: KEY_RING }, ID_ONLY)) !== null) return
  const first = { version: 1, next: generateKey(keys), current: generateKey(keys) }
  await rings.updateOne({ _id: KEY_RING }, { $setOnInsert: first }, { upsert: true })
}

/** A new ES256 key, its private part encrypted. */
export function generateKey(keys: Keyring): StoredKey {
  const kid = randomBytes(12).toString('base64url')
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    kid,
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' },
    privateJwk: seal(keys, JSON.stringify(privateKey.export({ format: 'jwk' })), kid),
    createdAt: new Date(),
  }
}

export interface KeyRing {
  /** The key that signs now. */
  signingKey(): Promise<{ kid: string; key: KeyObject }>
  /** Returns the published keys: next, current and previous. */
  jwks(): Promise<{ keys: object[] }>
}

const FRESH_MS = 5_000

/** Reads the keys, at most once in 5 s; with the database unavailable the ones last read go on. */
export function createKeyRing(rings: mongo.Collection<KeyRingDocument>, keys: Keyring): KeyRing {
  let known: { ring: KeyRingDocument; key: KeyObject } | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const read = async () => {
    const ring = await rings.findOne({ _id: KEY_RING })
    if (ring === null) throw new Error('there are no signing keys')
    const { kid, privateJwk } = ring.current
    const jwk = JSON.parse(unseal(keys, privateJwk, kid)) as Record<string, unknown>
    known = { ring, key: createPrivateKey({ key: jwk, format: 'jwk' }) }
  }
  const latest = async () => {
    if (known !== undefined && performance.now() - readAt < FRESH_MS) return known
    reading ??= read().finally(() => {
      readAt = performance.now()
      reading = undefined
    })
    await reading.catch((error: unknown) => {
      if (known === undefined) throw error
    })
    return known as NonNullable<typeof known>
  }
  return {
    signingKey: async () => {
      const { ring, key } = await latest()
      return { kid: ring.current.kid, key }
    },
    jwks: async () => {
      const { next, current, previous } = (await latest()).ring
      return { keys: [next, current, previous].flatMap((key) => (key ? [key.publicJwk] : [])) }
    },
  }
}

const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts `plain` so that it opens only under the same `label`. */
export function seal(keys: Keyring, plain: string, label: string): Sealed {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keys.current.secret, iv).setAAD(Buffer.from(label))
  const data = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return {
    key: keys.current.id,
    iv: iv.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    data: data.toString('base64'),
  }
}

/** Decrypts; throws when the key is gone, or when anything was changed. */
export function unseal(keys: Keyring, sealed: Sealed, label: string): string {
  const secret = keys.secret(sealed.key)
  if (secret === undefined) throw new Error(`the encryption key ${sealed.key} is not in the environment`)
  const iv = Buffer.from(sealed.iv, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', secret, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(label)).setAuthTag(Buffer.from(sealed.tag, 'base64'))
  return decipher.update(sealed.data, 'base64', 'utf8') + decipher.final('utf8')
}

const MAX_AGE_SECONDS = 60

/** The public keys that access tokens are verified with. */
export const jwksRoute = route({
  method: 'GET',
  path: '/.well-known/jwks.json',
  access: 'nothing',
  id: 'readSigningKeys',
  tag: 'operation',
  summary: 'The keys that access tokens are verified with',
  response: {
    schema: z
      .object({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) })
      .meta({ id: 'SigningKeys' }),
    example: { keys: [{ kid: AT, kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', use: 'sig', alg: 'ES256' }] },
    headers: [{ name: 'Cache-Control', description: 'How long they may be cached' }],
  },
  handle:
    ({ keyRing }: { keyRing: Pick<KeyRing, 'jwks'> }) =>
    async (_req, res) => {
      const jwks = await keyRing.jwks()
      res.set('cache-control', `public, max-age=${MAX_AGE_SECONDS}`).json(jwks)
    },
})
