import { defined } from '../../defined.ts'
import type { Reading, ReportedStatus, Update, UpdateFate } from '../inbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { contactsIn } from './contacts.ts'
import { type Change, messageUpdate } from './messages.ts'
import { personIn } from './persons.ts'

const MAX_SECONDS = 8.64e12

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
          updates.push({ path, raw, ...statusUpdate(raw, about) }),
        )
    }),
  )
  return [...malformed, ...updates]
}

function statusUpdate(raw: unknown, { contacts }: Change): UpdateFate {
  const person = personIn(raw, contacts.senderOf(raw))
  return { kind: 'status', fate: 'accepted', person, status: statusOf(raw) }
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
