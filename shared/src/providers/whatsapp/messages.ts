import { defined } from '../../defined.ts'
import type { PersonMessage, UpdateFate } from '../inbound.ts'
import { own, textAt } from '../own.ts'
import { type Contacts, idsOf } from './contacts.ts'
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
 * A group's message belongs to the thread of the group, whose `user` has no address: nothing can be sent there to the one who wrote it.
 */
function messageOf(raw: unknown, contacts: Contacts) {
  const id = textAt(raw, 'id')
  const contact = contacts.senderOf(raw)
  const sender = idsOf(raw)[0] ?? idsOf(contact)[0]
  if (id === undefined || sender === undefined) return undefined
  const name = textAt(contact, 'profile', 'name')
  const group = textAt(raw, 'group_id')
  const input = inputOf(raw)
  const person = group === undefined ? personIn(raw, contact) : undefined
  const user = defined({ name, phone: group === undefined ? reachedBy(raw, contact, sender) : undefined })
  const message: PersonMessage = {
    user,
    thread: { extId: group ?? sender },
    answer: {},
    ...defined({ input }),
    meta: raw,
  }
  return { id, person, message }
}

const INPUTS: Record<string, string[][]> = {
  text: [['text', 'body']],
  button: [['button', 'text']],
  interactive: [
    ['interactive', 'button_reply', 'title'],
    ['interactive', 'list_reply', 'title'],
    ['interactive', 'nfm_reply', 'body'],
  ],
  reaction: [['reaction', 'emoji']],
  order: [['order', 'text']],
  system: [['system', 'body']],
}

function inputOf(raw: unknown): string | undefined {
  const type = textAt(raw, 'type') ?? ''
  const paths = Object.hasOwn(INPUTS, type) ? (INPUTS[type] ?? []) : [[type, 'caption']]
  for (const path of paths) {
    const text = own(raw, ...path)
    if (typeof text === 'string') return text
  }
  return undefined
}
