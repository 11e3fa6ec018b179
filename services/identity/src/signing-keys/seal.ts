import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Keyring } from '@parley/shared/keyring'

/** A secret encrypted with AES-256-GCM under the key with the id `key`; all parts are base64. */
export interface Sealed {
  key: string
  iv: string
  tag: string
  data: string
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
