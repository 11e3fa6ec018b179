import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { randomInProduction, safeInProduction } from './config.ts'
import { isSettled, mapSecrets, type SecretLeaf } from './map-secrets.ts'
import { MASK } from './secret-names.ts'
import type { Reach } from './secret-places.ts'
import { SEALED_PREFIX } from './secret-urls.ts'

/** Parses `id:base64[,id:base64…]`; each secret has `minBytes` to `maxBytes` bytes, and no id comes twice. */
export const keyring = (options: { minBytes: number; maxBytes: number }) =>
  z.string().transform((text, context): Keyring => {
    const { minBytes, maxBytes } = options
    const parsed = text.split(',').map((entry) => ENTRY.exec(entry.trim()))
    const secrets = new Map(
      parsed.flatMap((match) => {
        const secret = Buffer.from(match?.[2] ?? '', 'base64')
        return match?.[1] && secret.length >= minBytes && secret.length <= maxBytes
          ? [[match[1], secret]]
          : []
      }),
    )
    const [first] = secrets
    if (first !== undefined && secrets.size === parsed.length) {
      return { current: { id: first[0], secret: first[1] }, secret: (id) => secrets.get(id) }
    }
    const message = `is not id:base64[,id:base64…] with ${minBytes} to ${maxBytes} bytes each`
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

const ENTRY = /^([\w.-]{1,32}):([A-Za-z0-9+/]+={0,2})$/

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const SEALED = /^sealed:([\w.-]{1,32}):([\w-]+)$/

/** The environment's AES-256 keys for secrets in documents. */
export const secretKeyring = keyring({ minBytes: 32, maxBytes: 32 })

/** True when a text has the form of a sealed one. */
export const isSealed = (text: string): boolean => SEALED.test(text)

/** Seals secrets for a workspace, and opens what was sealed for it. */
export interface SecretBox {
  /** `sealed:<key id>:<base64url>` by AES-256-GCM under the current key; a different text each time. */
  seal(value: SecretLeaf, workspace: number): string
  /** The value; undefined when it can't be opened: another workspace's, or the key is not there any more. */
  open(sealed: string, workspace: number): SecretLeaf | undefined
  /** True when a text is sealed under the current key. */
  isCurrent(sealed: string): boolean
}

export function createSecretBox(keys: Keyring): SecretBox {
  return {
    seal: (value, workspace) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, keys.current.secret, iv).setAAD(contextOf(workspace))
      const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      const sealed = Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
      return `sealed:${keys.current.id}:${sealed}`
    },
    open: (sealed, workspace) => {
      const [, id = '', encoded = ''] = SEALED.exec(sealed) ?? []
      const secret = keys.secret(id)
      return secret && decrypt(secret, Buffer.from(encoded, 'base64url'), workspace)
    },
    isCurrent: (sealed) => SEALED.exec(sealed)?.[1] === keys.current.id,
  }
}

const contextOf = (workspace: number): Buffer => Buffer.from(`workspace ${workspace}`)

function decrypt(secret: Buffer, sealed: Buffer, workspace: number): SecretLeaf | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, secret, sealed.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(contextOf(workspace)).setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    const text = sealed.subarray(IV_BYTES + TAG_BYTES)
    return JSON.parse(Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')) as SecretLeaf
  } catch {
    return undefined
  }
}

/**
 * A document with its secrets opened, for a service that works with them. What is not sealed stays as it is;
 * what can't be opened becomes {@link MASK}.
 */
export function openSecrets<T>(
  document: T,
  box: Pick<SecretBox, 'open'>,
  workspace: number,
  { reach = 'document' }: { reach?: Reach } = {},
): T {
  const open = (leaf: SecretLeaf) =>
    typeof leaf === 'string' && isSealed(leaf) ? (box.open(leaf, workspace) ?? MASK) : leaf
  return mapSecrets(document, open, { reach, mayHaveParts: (text) => text.includes(SEALED_PREFIX) })
}

/** A document with its secrets sealed, for a service that stores it. What is sealed already stays as it is. */
export function sealSecrets<T>(
  document: T,
  box: Pick<SecretBox, 'seal'>,
  workspace: number,
  { reach = 'document' }: { reach?: Reach } = {},
): T {
  return mapSecrets(document, (leaf) => sealed(leaf, box, workspace), { reach })
}

/** The same for what a service of the release before opens as well: what lies under a settled name. */
export function sealSettledSecrets<T>(document: T, box: Pick<SecretBox, 'seal'>, workspace: number): T {
  return mapSecrets(document, (leaf, place) => (isSettled(place) ? sealed(leaf, box, workspace) : leaf))
}

function sealed(leaf: SecretLeaf, box: Pick<SecretBox, 'seal'>, workspace: number): string {
  return typeof leaf === 'string' && isSealed(leaf) ? leaf : box.seal(leaf, workspace)
}

/** The key of the environment that a service needs which stores or opens secrets of documents. */
export const secretKeysConfig = {
  SECRET_KEYS: safeInProduction(
    secretKeyring
      .optional()
      .describe(
        'AES-256 keys for the secrets in documents, id:base64[,id:base64…]; the first is current. Required in production',
      ),
    randomInProduction,
  ),
}

const DEVELOPMENT_KEY = `development:${Buffer.alloc(32, 'development').toString('base64')}`

/** The keys for secrets; outside production one that everybody knows, when none are set. */
export function secretKeysOf({ SECRET_KEYS }: { SECRET_KEYS?: Keyring | undefined }): Keyring {
  return SECRET_KEYS ?? secretKeyring.parse(DEVELOPMENT_KEY)
}

/** Named secrets: the first is used for what is new, all of them for what exists. */
export interface Keyring {
  current: { id: string; secret: Buffer }
  /** The secret of that id; undefined when the environment does not have it. */
  secret(id: string): Buffer | undefined
}
