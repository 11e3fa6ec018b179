import { type MessageUser, ownAddresses } from '@parley/shared/providers/address'
import { phoneDigits } from './addresses.ts'

const MAX_NAME = 256

/** Returns a person's search names: names, e-mail address and provider ids in lower case, without the phone number. */
export function namesOf(user: Record<string, unknown>): string[] {
  const { name, username, email, phone } = user
  const id = typeof phone === 'string' && phoneDigits(phone) === undefined ? phone : undefined
  const names = new Set<string>()
  for (const one of [name, username, email, id]) if (typeof one === 'string') names.add(userName(one))
  for (const { value } of ownAddresses(user as MessageUser)) names.add(userName(value))
  names.delete('')
  return [...names]
}

/** A name as {@link namesOf} has it. */
export const userName = (text: string): string => text.trim().toLowerCase().slice(0, MAX_NAME)
