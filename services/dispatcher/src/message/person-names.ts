import { type MessageUser, ownAddresses } from '@parley/shared/providers/address'
import { phoneDigits } from './addresses.ts'

const MAX_NAME = 256

/** What a person is found by beside the phone number: names, e-mail address and ids at providers, in lower case. */
export function namesOf(user: Record<string, unknown>): string[] {
  const { name, username, email, phone } = user
  const id = typeof phone === 'string' && phoneDigits(phone) === undefined ? phone : undefined
  const own = ownAddresses(user as MessageUser).map(({ value }) => value)
  const names = [name, username, email, id, ...own].flatMap((one) =>
    typeof one === 'string' ? userName(one) : [],
  )
  return [...new Set(names)].filter((name) => name !== '')
}

/** A name as {@link namesOf} has it. */
export const userName = (text: string): string => text.trim().toLowerCase().slice(0, MAX_NAME)
