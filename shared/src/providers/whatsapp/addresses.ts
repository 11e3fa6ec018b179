import { type Address, addressText, ownAddresses, type ProviderAddresses, phoneDigits } from '../address.ts'

const KIND = 'whatsapp'
const SCHEME = /^whatsapp:/i
/** A business-scoped user id of Meta's, or that of a portfolio: country, `ENT` for a portfolio's, and 1 to 128 letters and digits. */
const USER_ID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z\d]{1,128}$/

/** A group, which is written to as a whole. */
export const GROUP = 'group'
export const groupAddress = (id: string): string => addressText({ kind: GROUP, value: id })

/**
 * A person is written to by phone number, or by an id that Meta gave, exactly as it came. A text with other characters is
 * never a number: its digits would be somebody else's.
 */
export const addresses: ProviderAddresses = {
  find(user): Address | undefined {
    const group = ownAddresses(user).find(({ kind }) => kind === GROUP)
    if (group !== undefined) return group
    const phone = phoneDigits(user.phone?.replace(SCHEME, ''))
    if (phone !== undefined) return { kind: 'phone', value: phone }
    if (isUserId(user.phone)) return { kind: KIND, value: user.phone }
    return ownAddresses(user).find(({ kind, value }) => kind === KIND && isUserId(value))
  },
  missing:
    "The message's user.phone is neither a phone number nor an id that WhatsApp gave, so there is nobody to write to.",
}

const isUserId = (text: unknown): text is string => typeof text === 'string' && USER_ID.test(text)
