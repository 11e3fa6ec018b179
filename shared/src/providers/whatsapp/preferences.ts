import type { Preference } from '../inbound.ts'
import { own } from '../own.ts'
import { contactsIn } from './contacts.ts'
import { personIn } from './persons.ts'
import { timeOf } from './time.ts'

/** The changes of this field say what people have chosen in WhatsApp. */
const FIELD = 'user_preferences'
const MARKETING = 'marketing_messages'
const STATUSES: Readonly<Record<string, Preference['status']>> = { stop: 'withdrawn', resume: 'granted' }

/** The choices in a notice: that people want marketing messages of the business no more, or again. */
export function preferencesIn({ field, value }: { field: string; value: unknown }): Preference[] {
  const found = field === FIELD ? own(value, FIELD) : undefined
  if (!Array.isArray(found)) return []
  const named = own(value, 'contacts')
  const contacts = contactsIn(Array.isArray(named) ? named : [], { isStorable: () => true })
  return found.flatMap((raw: unknown) => {
    const choice = own(raw, 'value')
    const status =
      typeof choice === 'string' && Object.hasOwn(STATUSES, choice) ? STATUSES[choice] : undefined
    const person = personIn(raw, contacts.senderOf(raw))
    if (own(raw, 'category') !== MARKETING || status === undefined || person === undefined) return []
    const at = timeOf(own(raw, 'timestamp'))
    return { person, status, ...(at !== undefined && { at: new Date(at) }) }
  })
}
