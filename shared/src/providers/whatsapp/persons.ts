import { jsonOrUndefined } from '../../parse-json.ts'
import { type Address, addressText, type NamedPerson } from '../address.ts'
import type { ProviderResponse } from '../http.ts'
import { own, textAt } from '../own.ts'
import { addresses } from './addresses.ts'
import { IDS, NUMBERS } from './contacts.ts'

const PHONE = 'phone'
/** Types of system messages that say what a person is reached by from now on; the second is that of earlier versions. */
const CHANGES = ['user_changed_number', 'customer_changed_number', 'user_changed_user_id']

/** The person that a message is from, or a status about, by all that Meta says of them; never by a name, which people choose. */
export function personIn(raw: unknown, contact: unknown): NamedPerson | undefined {
  const number = newNumberIn(raw)
  const [old] = addressesIn(raw)
  const isLeft = number !== undefined && old?.kind === PHONE && old.value !== number
  const changed = isChange(raw) ? [...addressesIn(own(raw, 'system')), ...previousIn(raw)] : []
  const others = number === undefined ? [] : [{ kind: PHONE, value: number }]
  const named = [...addressesIn(raw), ...addressesIn(contact), ...changed, ...others]
  const person = personOf(named)
  return person && isLeft ? { ...person, left: [old] } : person
}

/**
 * The address of the person whom `sender` names after a message: the new one, where it says so. Undefined where
 * an id has the form of a number: that would be somebody else's.
 */
export function reachedBy(raw: unknown, contact: unknown, sender: string): string | undefined {
  const [address] = [...addressesIn(raw), ...addressesIn(contact)]
  const id = isChange(raw) && address?.kind !== PHONE ? textAt(raw, 'system', 'user_id') : undefined
  if (newNumberIn(raw) ?? id) return newNumberIn(raw) ?? id
  return addresses.find({ phone: sender })?.kind === PHONE && address?.kind !== PHONE ? undefined : sender
}

/** The person that the business wrote to in its own app, by all that Meta says of them. */
export const recipientIn = (raw: unknown): NamedPerson | undefined =>
  personOf(addressesIn(raw, { numbers: ['to'], ids: ['to_user_id', 'to_parent_user_id'] }))

/** The person named by one address alone. */
export function personNamed(phone: string): { user: { phone: string }; person: NamedPerson | undefined } {
  const address = addresses.find({ phone })
  return { user: { phone }, person: address && { addresses: [address] } }
}

/** The phone number that a person has from now on, where that is what a message says. */
function newNumberIn(raw: unknown): string | undefined {
  if (!isChange(raw)) return undefined
  const number = addresses.find({
    phone: textAt(raw, 'system', 'wa_id') ?? textAt(raw, 'system', 'new_wa_id'),
  })
  return number?.kind === PHONE ? number.value : undefined
}

/** The person that a response to a send names: one's addresses, where it is about one, and about the number that was sent to. */
export function personInResponse({ status, body }: ProviderResponse): NamedPerson | undefined {
  const contacts = status === 200 ? own(jsonOrUndefined(body), 'contacts') : undefined
  if (!Array.isArray(contacts) || contacts.length !== 1) return undefined
  const [input, known] = ['input', 'wa_id'].map((key) => addresses.find({ phone: textAt(contacts[0], key) }))
  const isNumber = input?.kind === PHONE && known?.kind === PHONE
  if (isNumber && !isSpeltOtherwise(input.value, known.value)) return undefined
  return personOf(addressesIn(contacts[0]))
}

const COUNTRY = 2
const LAST = 6

/**
 * True when two numbers are one, but for digits behind the country's: the ninth in Brazil, the 9 in Argentina, the 1 in Mexico. Without
 * its country a number is written to in that of the business, and by itself is somebody else's.
 */
function isSpeltOtherwise(one: string, other: string): boolean {
  return one.slice(0, COUNTRY) === other.slice(0, COUNTRY) && one.slice(-LAST) === other.slice(-LAST)
}

const isChange = (raw: unknown): boolean =>
  own(raw, 'type') === 'system' && CHANGES.includes(textAt(raw, 'system', 'type') ?? '')

function previousIn(raw: unknown): Address[] {
  return ['previous_user_id', 'previous_parent_user_id'].flatMap((key) => idAt(raw, 'system', key) ?? [])
}

/** The addresses in a message, status or contact. What is not said to be a number is none, whatever it looks like. */
function addressesIn(
  value: unknown,
  { numbers, ids }: { numbers: readonly string[]; ids: readonly string[] } = { numbers: NUMBERS, ids: IDS },
): Address[] {
  const found = numbers.flatMap((key) => addresses.find({ phone: textAt(value, key) }) ?? [])
  return [...found, ...ids.flatMap((key) => idAt(value, key) ?? [])]
}

function idAt(value: unknown, ...keys: string[]): Address | undefined {
  const found = addresses.find({ phone: textAt(value, ...keys) })
  return found?.kind === PHONE ? undefined : found
}

function personOf(named: Address[]): NamedPerson | undefined {
  const found = new Map(named.map((one) => [addressText(one), one]))
  return found.size === 0 ? undefined : { addresses: [...found.values()] }
}
