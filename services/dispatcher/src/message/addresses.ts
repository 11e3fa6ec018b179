import { addressText, type MessageUser, ownAddresses } from '@parley/shared/providers/address'
import { allProviders } from '@parley/shared/providers/registry'

const PHONE = 'phone'

/** The addresses of a message's person, as they are stored: what any provider finds, and what the message names itself. */
export function addressesOf(user: MessageUser): string[] {
  const found = allProviders().flatMap(({ addresses }) => addresses.find(user) ?? [])
  return [...new Set([...found, ...ownAddresses(user)].map(addressText))]
}

/** The digits of a text that is a phone number, however it is written; undefined for any other text. */
export function phoneDigits(text: string | null | undefined): string | undefined {
  for (const { addresses } of allProviders()) {
    const found = addresses.find({ phone: text })
    if (found?.kind === PHONE) return found.value
  }
  return undefined
}

/** A record with addresses; in those of an earlier version a phone number stands alone. */
interface Addressed {
  addresses?: string[] | undefined
  phone?: string | undefined
}

/** The addresses; undefined where there are none. */
export const addressesIn = ({ addresses, phone }: Addressed): string[] | undefined =>
  addresses ?? (phone === undefined ? undefined : [phoneAddress(phone)])

/** The digits of the person's phone number; undefined where there is none. */
export function phoneOf({ addresses = [], phone }: Addressed): string | undefined {
  return phone ?? addresses.find((one) => one.startsWith(`${PHONE}:`))?.slice(PHONE.length + 1)
}

/** Returns the person's names at the provider or by phone, without the kinds of the addresses. */
export function addressValues({ addresses = [], phone }: Addressed): string[] {
  const values = addresses.map((one) => one.slice(one.indexOf(':') + 1))
  return phone === undefined ? values : [phone, ...values]
}

/** The address of a phone number, as it is stored. */
export const phoneAddress = (digits: string): string => addressText({ kind: PHONE, value: digits })
