import { type Contacts, contactsIn } from './contacts.ts'
import { isJsonObject, own, textAt } from './own.ts'

/** One message or status of a payload of Meta's. */
export interface Update {
  kind: 'message' | 'status'
  /** Where it stands in the payload, as a JSON Pointer. */
  path: string
  raw: unknown
  /** The contacts named with it. */
  contacts: Contacts
  /** The number of the business that it is about (`metadata.phone_number_id`); undefined where none is named. */
  phoneNumberId: string | undefined
}

/** The updates of a payload in order, and the paths of what should have contained some but could not be read. */
export function updatesIn(payload: unknown): { updates: Update[]; malformed: string[] } {
  const updates: Update[] = []
  const malformed: string[] = []
  const walk = (parent: unknown, key: string, path: string, visit: (one: unknown, at: string) => void) => {
    if (!isJsonObject(parent)) return void malformed.push(path)
    const items = own(parent, key)
    if (items === undefined) return
    if (!Array.isArray(items)) return void malformed.push(`${path}/${key}`)
    items.forEach((item, index) => {
      visit(item, `${path}/${key}/${index}`)
    })
  }
  walk(payload, 'entry', '', (entry, entryPath) =>
    walk(entry, 'changes', entryPath, (change, changePath) => {
      if (!isJsonObject(change)) return void malformed.push(changePath)
      const value = own(change, 'value')
      const found = isJsonObject(value) ? own(value, 'contacts') : undefined
      const contacts = contactsIn(Array.isArray(found) ? found : [])
      const phoneNumberId = textAt(value, 'metadata', 'phone_number_id')
      const take = (kind: Update['kind']) => (raw: unknown, path: string) =>
        void updates.push({ kind, path, raw, contacts, phoneNumberId })
      walk(value, 'messages', `${changePath}/value`, take('message'))
      if (isJsonObject(value)) walk(value, 'statuses', `${changePath}/value`, take('status'))
    }),
  )
  return { updates, malformed }
}
