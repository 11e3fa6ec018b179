import { defined } from '../../defined.ts'
import type { Reading, ReportedStatus, Update } from '../inbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { coexistenceUpdates } from './coexistence.ts'
import { contactsIn } from './contacts.ts'
import { type Change, isForeign, messageUpdate } from './messages.ts'
import { timeOf } from './time.ts'

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
      const phoneNumberId = textAt(value, 'metadata', 'phone_number_id')
      const app = coexistenceUpdates(own(change, 'field'), value, `${changePath}/value`)
      if (app !== undefined) {
        const foreign = { kind: 'message', fate: 'foreign' } as const
        const isOthers = isForeign(phoneNumberId, reading)
        return void updates.push(...app.map((one) => (isOthers ? { ...one, ...foreign } : one)))
      }
      const found = isJsonObject(value) ? own(value, 'contacts') : undefined
      const about: Change = {
        contacts: contactsIn(Array.isArray(found) ? found : [], reading),
        phoneNumberId,
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

function errorOf(raw: unknown) {
  const code = Number(own(raw, 'code') ?? Number.NaN)
  return {
    code: Number.isSafeInteger(code) ? code : null,
    title: textAt(raw, 'title') ?? null,
    message: textAt(raw, 'message') ?? null,
    details: textAt(raw, 'error_data', 'details') ?? null,
  }
}
