/**
 * A phone number as people write it: digits, with a plus sign before them, and spaces, dashes, brackets and dots among
 * them; also the invisible marks that come along when it is copied, and the schemes `tel:` and `whatsapp:`.
 */
const PHONE = /^(?:tel:|whatsapp:)?[\s\p{Cf}(]*(?:[+\d][\d\s\p{Pd}\p{Cf}().]*)?$/iu
/** ITU-T E.164. */
const MAX_DIGITS = 15
/** A business-scoped user id of Meta's, or that of a portfolio: country, `ENT` for a portfolio's, and 1 to 128 letters and digits. */
const USER_ID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z\d]{1,128}$/

/** Where a person is written to: a phone number, or an id that the provider gave, exactly as it came. */
export type PersonAddress = { phone: string } | { id: string }

/**
 * The address in a message's `user.phone`; undefined for what is neither a phone number nor an id. A text with other characters is
 * never a number: its digits would be somebody else's.
 */
export function addressIn(text: string | null | undefined): PersonAddress | undefined {
  const phone = phoneDigits(text)
  if (phone !== undefined) return { phone }
  return typeof text === 'string' && USER_ID.test(text) ? { id: text } : undefined
}

/** The 1 to 15 digits of a text that is a phone number, however it is written; undefined for any other text. */
export function phoneDigits(text: string | null | undefined): string | undefined {
  if (typeof text !== 'string' || !PHONE.test(text)) return undefined
  const digits = text.replaceAll(/\D/g, '')
  return digits === '' || digits.length > MAX_DIGITS ? undefined : digits
}
