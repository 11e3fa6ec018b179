import type { Reading, Update } from '../inbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { type Change, malformedPart, noticeIn } from './change.ts'
import { WEBHOOK_FIELDS } from './fields.ts'
import { timeOf } from './time.ts'

/** The updates of a payload in order; before them, what should have contained some but could not be read. */
export function updatesIn(payload: unknown, reading: Reading): Update[] {
  const updates: Update[] = []
  const malformed: Update[] = []
  const walk = (parent: unknown, key: string, path: string, visit: (one: unknown, at: string) => void) => {
    if (!isJsonObject(parent)) return void malformed.push(malformedPart(parent, path))
    const items = own(parent, key)
    if (items === undefined) return
    if (!Array.isArray(items)) return void malformed.push(malformedPart(items, `${path}/${key}`))
    items.forEach((item, index) => void visit(item, `${path}/${key}/${index}`))
  }
  walk(payload, 'entry', '', (entry, entryPath) =>
    walk(entry, 'changes', entryPath, (raw, path) => {
      const value = own(raw, 'value')
      if (!isJsonObject(raw)) malformed.push(malformedPart(raw, path))
      else if (!isJsonObject(value)) malformed.push(malformedPart(value, `${path}/value`))
      else {
        const field = textAt(raw, 'field') ?? 'messages'
        const [account, at] = [textAt(entry, 'id'), timeOf(own(entry, 'time'))]
        updates.push(...updatesOf({ field, value, path: `${path}/value`, account, at }, reading))
      }
    }),
  )
  return [...malformed, ...updates]
}

function updatesOf(change: Change, reading: Reading): Update[] {
  const { field, value, path } = change
  const known = Object.hasOwn(WEBHOOK_FIELDS, field) ? WEBHOOK_FIELDS[field] : undefined
  const receiver = receiverOf(value)
  if (known?.fate === 'taken')
    return known.updatesIn(change, reading).map((update) => ({ ...update, receiver }))
  if (known?.fate === 'counted') return [{ kind: 'notice', fate: 'counted', path, raw: value, receiver }]
  return [{ path, raw: value, receiver, ...noticeIn(change, value) }]
}

/** The number of the business that a change is about; undefined where none is named. */
function receiverOf(value: Change['value']): string | undefined {
  const id = own(value, 'metadata', 'phone_number_id')
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && id !== '' ? id : undefined
}
