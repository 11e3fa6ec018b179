/**
 * Countries in which one mobile number is written with and without a digit behind the country's: the ninth in Brazil, the 1
 * in Mexico, the 9 in Argentina. Providers write it one way, and people the other.
 */
const SPELLINGS = [/^(55\d{2})9([6-9]\d{7})$/, /^(52)1(\d{10})$/, /^(54)9(\d{10})$/]

/** An address as `kind:value`, a phone number without the digit that it may have or lack. */
export function plainAddress(address: string): string {
  if (!address.startsWith(PHONE)) return address
  const digits = address.slice(PHONE.length)
  for (const spelling of SPELLINGS) {
    const [, country, rest] = spelling.exec(digits) ?? []
    if (country !== undefined) return `${PHONE}${country}${rest}`
  }
  return address
}

const PHONE = 'phone:'
