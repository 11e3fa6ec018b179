import { defined } from '../../defined.ts'
import type { NamedPerson } from '../address.ts'
import type { PersonMessage, UpdateFate } from '../inbound.ts'
import { textAt } from '../own.ts'
import { groupAddress } from './addresses.ts'
import { type Contacts, idsOf } from './contacts.ts'
import { inputOf, natureOf } from './natures.ts'
import { personIn, reachedBy } from './persons.ts'

/** A message of a change, by the contacts that are named with it. */
export function messageUpdate(raw: unknown, contacts: Contacts): UpdateFate {
  const read = messageOf(raw, contacts)
  return read === undefined
    ? { kind: 'message', fate: 'malformed' }
    : { kind: 'message', fate: 'accepted', ...read }
}

/**
 * A message of Meta's as the system's own: what the person wrote or chose as `input`, and all of it under `meta`.
 * Undefined when it has no id, or names nobody whom it is from. Types that are not known survive like any other.
 * A group's message is in the thread of the group, which is written to; its `user` has the name of who wrote it.
 */
function messageOf(raw: unknown, contacts: Contacts) {
  const id = textAt(raw, 'id')
  const contact = contacts.senderOf(raw)
  const sender = idsOf(raw)[0] ?? idsOf(contact)[0]
  if (id === undefined || sender === undefined) return undefined
  const name = textAt(contact, 'profile', 'name')
  const group = textAt(raw, 'group_id')
  if (group !== undefined) {
    const user = { ...defined({ name }), addresses: [groupAddress(group)] }
    return said({ id, thread: group, user, person: undefined, raw })
  }
  const person = personIn(raw, contact)
  const username = textAt(contact, 'profile', 'username')
  const user = defined({ name, username, phone: reachedBy(raw, contact, sender) })
  return said({ id, thread: sender, user, person, raw })
}

/** A message whose `user` is whom its thread is with, whoever wrote it. */
export function said({
  id,
  thread,
  user,
  person,
  raw,
}: {
  id: string
  thread: string
  user: PersonMessage['user']
  person: NamedPerson | undefined
  raw: unknown
}) {
  const { kind } = natureOf(raw)
  const input = kind === 'speech' || kind === 'reaction' ? inputOf(raw) : undefined
  const message: PersonMessage = {
    user,
    thread: { extId: thread },
    answer: {},
    ...defined({ input }),
    meta: raw,
  }
  return { id, person, message }
}
