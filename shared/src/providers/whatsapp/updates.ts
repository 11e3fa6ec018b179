import { defined } from '../../defined.ts'
import type { PersonMessage, Reading, ReportedStatus, Update, UpdateFate } from '../inbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { addresses } from './addresses.ts'
import { type Contacts, contactsIn, idsOf } from './contacts.ts'

const MAX_SECONDS = 8.64e12

/** What one change of a payload says of each of its messages and statuses. */
interface Change {
  /** The contacts named with them. */
  contacts: Contacts
  /** The number of the business that they are about; undefined where none is named. */
  phoneNumberId: string | undefined
}

/** The updates of a payload in order; before them, what should have contained some but could not be read. */
export function updatesIn(payload: unknown, reading: Reading): Update[] {
  const updates: Update[] = []
  const malformed: Update[] = []
  const isMalformed = (raw: unknown, path: string) =>
    void malformed.push({ kind: 'unknown', fate: 'malformed', path, raw })
  const walk = (parent: unknown, key: string, path: string, visit: (one: unknown, at: string) => void) => {
    if (!isJsonObject(parent)) return isMalformed(parent, path)
    const items = own(parent, key)
    if (items === undefined) return
    if (!Array.isArray(items)) return isMalformed(items, `${path}/${key}`)
    items.forEach((item, index) => {
      visit(item, `${path}/${key}/${index}`)
    })
  }
  walk(payload, 'entry', '', (entry, entryPath) =>
    walk(entry, 'changes', entryPath, (change, changePath) => {
      if (!isJsonObject(change)) return isMalformed(change, changePath)
      const value = own(change, 'value')
      const found = isJsonObject(value) ? own(value, 'contacts') : undefined
      const about: Change = {
        contacts: contactsIn(Array.isArray(found) ? found : [], reading),
        phoneNumberId: textAt(value, 'metadata', 'phone_number_id'),
      }
      walk(value, 'messages', `${changePath}/value`, (raw, path) =>
        updates.push({ path, raw, ...messageUpdate(raw, about, reading) }),
      )
      if (isJsonObject(value))
        walk(value, 'statuses', `${changePath}/value`, (raw, path) =>
          updates.push({ path, raw, kind: 'status', fate: 'accepted', status: statusOf(raw) }),
        )
    }),
  )
  return [...malformed, ...updates]
}

/**
 * A message that was written to another number than the channel's is foreign: an app has one address for all of its
 * numbers. Statuses are found by the send that they are about, so they may come here whichever number sent it.
 */
function messageUpdate(raw: unknown, { contacts, phoneNumberId }: Change, { settings }: Reading): UpdateFate {
  const { phoneNumberId: own } = settings
  if (own !== undefined && phoneNumberId !== undefined && own !== phoneNumberId)
    return { kind: 'message', fate: 'foreign' }
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
  const user = defined({ name, phone: group === undefined ? sender : undefined })
  const message: PersonMessage = {
    user,
    thread: { extId: group ?? sender },
    answer: {},
    ...defined({ input }),
    meta: raw,
  }
  return { id, address: addresses.find(user), message }
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

/** A status of Meta's as the system's own. */
function statusOf(raw: unknown): ReportedStatus {
  const errors = own(raw, 'errors')
  return {
    ...defined({
      providerId: textAt(raw, 'id'),
      status: textAt(raw, 'status'),
      at: timeOf(own(raw, 'timestamp')),
    }),
    opaque: textAt(raw, 'biz_opaque_callback_data') ?? null,
    recipient: textAt(raw, 'recipient_id') ?? textAt(raw, 'recipient_user_id') ?? null,
    ...(Array.isArray(errors) && errors.length > 0 ? { errors: errors.map(errorOf) } : {}),
  }
}

/** Meta gives seconds since 1970, as text. */
function timeOf(value: unknown): string | undefined {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || !(Math.abs(seconds) <= MAX_SECONDS)) return undefined
  return new Date(seconds * 1_000).toISOString()
}

function errorOf(raw: unknown) {
  const code = Number(own(raw, 'code') ?? Number.NaN)
  return {
    code: Number.isSafeInteger(code) ? code : null,
    title: textAt(raw, 'title') ?? null,
    message: textAt(raw, 'message') ?? null,
    details: textAt(raw, 'error_data', 'details') ?? null,
  }
}
