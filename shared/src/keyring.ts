import { z } from 'zod'

/** Named secrets: the first is used for what is new, all of them for what exists. */
export interface Keyring {
  current: { id: string; secret: Buffer }
  /** The secret of that id; undefined when the environment does not have it. */
  secret(id: string): Buffer | undefined
}

const ENTRY = /^([\w.-]{1,32}):([A-Za-z0-9+/]+={0,2})$/

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
