const MAX_DIGITS = 32

/** A phone number as messages are found by it: its digits, however it is written; undefined without 1 to 32 of them. */
export function phoneDigits(phone: string | null | undefined): string | undefined {
  const digits = phone?.replaceAll(/\D/g, '') ?? ''
  return digits === '' || digits.length > MAX_DIGITS ? undefined : digits
}
