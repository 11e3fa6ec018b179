const MAX_DIGITS = 32
const MAX_NAME = 256
const PHONE = /^[+\d\s().-]*$/

/** A phone number as messages are found by it: its digits, however it is written; undefined without 1 to 32 of them. */
export function phoneDigits(phone: string | null | undefined): string | undefined {
  const digits = phone?.replaceAll(/\D/g, '') ?? ''
  return digits === '' || digits.length > MAX_DIGITS ? undefined : digits
}

/** What a person is found by beside the phone number: name, e-mail address and id at the provider, in lower case. */
export function namesOf(user: Record<string, unknown>): string[] {
  const { name, email, phone } = user
  const id = typeof phone === 'string' && !PHONE.test(phone) ? phone : undefined
  const names = [name, email, id].flatMap((one) => (typeof one === 'string' ? userName(one) : []))
  return [...new Set(names)].filter((name) => name !== '')
}

/** A name as {@link namesOf} has it. */
export const userName = (text: string): string => text.trim().toLowerCase().slice(0, MAX_NAME)
