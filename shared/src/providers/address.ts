/** Where a person is written to, or found: `phone` and its digits, or what a provider names its people by. */
export interface Address {
  kind: string
  value: string
}

/** A person by what a provider says: each of the addresses is theirs. */
export interface NamedPerson {
  addresses: readonly Address[]
  /** Those of them that the person says they have left: whoever is seen there next is somebody else. */
  left?: readonly Address[]
}

/** The way in which a provider names a person. */
export interface ProviderAddresses {
  /** The address that it writes to, of a message's `user`; undefined where that names none. */
  find(user: MessageUser): Address | undefined
  /** Why nobody can be written to without one; undefined where the provider writes to whomever. */
  missing?: string
}

/** The `user` of a message, as far as it has addresses. Others than phone and e-mail are texts such as `telegram:4711`. */
export interface MessageUser {
  phone?: string | null | undefined
  addresses?: unknown
}

/**
 * A phone number as people write it: digits, with a plus sign before them, and spaces, dashes, brackets and dots among
 * them; also the invisible marks that come along when it is copied, and the scheme `tel:`.
 */
const PHONE = /^(?:tel:)?[\s\p{Cf}(]*(?:[+\d][\d\s\p{Pd}\p{Cf}().]*)?$/iu
/** ITU-T E.164. */
const MAX_DIGITS = 15
/** As machines write it, which is most of what comes, and found at a tenth of the cost. */
const PLAIN = /^\+?(\d{1,15})$/
const ADDRESS = /^[a-z]{1,32}:./
const MAX_ADDRESSES = 8
const MAX_CHARACTERS = 256

/** The 1 to 15 digits of a text that is a phone number, however it is written; undefined for any other text. */
export function phoneDigits(text: string | null | undefined): string | undefined {
  if (typeof text !== 'string') return undefined
  const plain = PLAIN.exec(text)?.[1]
  if (plain !== undefined) return plain
  if (!PHONE.test(text)) return undefined
  const digits = text.replaceAll(/\D/g, '')
  return digits === '' || digits.length > MAX_DIGITS ? undefined : digits
}

/** An address as it is stored and posted. */
export const addressText = ({ kind, value }: Address): string => `${kind}:${value}`

/** The addresses that a message's user has beside phone number and e-mail address. */
export function ownAddresses({ addresses }: MessageUser): Address[] {
  if (!Array.isArray(addresses)) return []
  return addresses.slice(0, MAX_ADDRESSES).flatMap((text: unknown) => {
    if (typeof text !== 'string' || text.length > MAX_CHARACTERS || !ADDRESS.test(text)) return []
    const at = text.indexOf(':')
    return { kind: text.slice(0, at), value: text.slice(at + 1) }
  })
}
