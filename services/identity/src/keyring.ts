import { z } from 'zod'

/** Named secrets: the first is used for what is new, all of them for what exists. */
export interface Keyring {
  current: { id: string; secret: Buffer }
  /** The secret of that id; throws when the environment no longer holds it. */
  secret(id: string): Buffer
}

const ENTRY = /^([\w.-]{1,32}):([A-Za-z0-9+/]+={0,2})$/

/** Parses `id:base64[,id:base64…]`; each secret has `minBytes` to `maxBytes` bytes, and no id comes twice. */
export const keyring = (options: { minBytes: number; maxBytes: number }) =>
  z.string().transform((text, context): Keyring => {
    const entries = text.split(',').map((entry) => ENTRY.exec(entry.trim()))
    const secrets = new Map<string, Buffer>()
    for (const [, id = '', encoded = ''] of entries.filter((entry) => entry !== null)) {
      secrets.set(id, Buffer.from(encoded, 'base64'))
    }
    const sizes = [...secrets.values()].map((secret) => secret.length)
    const [first] = secrets
    if (
      first === undefined ||
      secrets.size !== entries.length ||
      sizes.some((bytes) => bytes < options.minBytes || bytes > options.maxBytes)
    ) {
      context.addIssue({
        code: 'custom',
        message: `is not id:base64[,id:base64…] with ${options.minBytes} to ${options.maxBytes} bytes each`,
      })
      return z.NEVER
    }
    return { current: { id: first[0], secret: first[1] }, secret: (id) => secretOf(secrets, id) }
  })

function secretOf(secrets: Map<string, Buffer>, id: string): Buffer {
  const secret = secrets.get(id)
  if (secret === undefined) throw new Error(`the key ${id} is not in the environment`)
  return secret
}
