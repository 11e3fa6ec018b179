import { jsonOrUndefined } from '../../parse-json.ts'
import type { Address, NamedPerson } from '../address.ts'
import type { ProviderResponse } from '../http.ts'
import { own, textAt } from '../own.ts'
import { addresses } from './addresses.ts'
import { idsOf } from './contacts.ts'

/** Types of system messages that say what a person is reached by from now on; the second is that of earlier versions. */
const CHANGES = ['user_changed_number', 'customer_changed_number', 'user_changed_user_id']

/** Whom a message is from, or a status about, by all that Meta says of them; never by a name, which people choose. */
export function personIn(raw: unknown, contact: unknown): NamedPerson | undefined {
  const number = newNumberIn(raw)
  const old = addressOf(textAt(raw, 'from'))
  const changed = isChange(raw) ? idsOf(own(raw, 'system')).concat(previousIdsIn(raw), number ?? []) : []
  const left = number !== undefined && old?.kind === 'phone' && old.value !== number ? [old] : undefined
  return personOf([...idsOf(raw), ...idsOf(contact), ...changed], left)
}

/** What the person who is named by `sender` is written to after a message: what it says to be new, if it says so. */
export function reachedBy(raw: unknown, sender: string): string {
  const id =
    isChange(raw) && addressOf(sender)?.kind !== 'phone' ? textAt(raw, 'system', 'user_id') : undefined
  return newNumberIn(raw) ?? id ?? sender
}

/** The phone number that a person has from now on, where that is what a message says. */
function newNumberIn(raw: unknown): string | undefined {
  if (!isChange(raw)) return undefined
  const number = addressOf(textAt(raw, 'system', 'wa_id') ?? textAt(raw, 'system', 'new_wa_id'))
  return number?.kind === 'phone' ? number.value : undefined
}

/** Whom a response to a send names: one person's addresses, where it is about one. */
export function personInResponse({ status, body }: ProviderResponse): NamedPerson | undefined {
  const contacts = status === 200 ? own(jsonOrUndefined(body), 'contacts') : undefined
  return Array.isArray(contacts) && contacts.length === 1 ? personOf(idsOf(contacts[0])) : undefined
}

const isChange = (raw: unknown): boolean =>
  own(raw, 'type') === 'system' && CHANGES.includes(textAt(raw, 'system', 'type') ?? '')

function previousIdsIn(raw: unknown): string[] {
  return ['previous_user_id', 'previous_parent_user_id'].flatMap((key) => textAt(raw, 'system', key) ?? [])
}

function personOf(ids: string[], left?: Address[]): NamedPerson | undefined {
  const found = [...new Set(ids)].flatMap((id) => addressOf(id) ?? [])
  if (found.length === 0) return undefined
  return { addresses: found, ...(left !== undefined && { left }) }
}

const addressOf = (id: string | undefined): Address | undefined => addresses.find({ phone: id })
