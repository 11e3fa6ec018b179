import { isExactNumber } from '../../exact-number.ts'
import type { Update, UpdateFate } from '../inbound.ts'
import { own } from '../own.ts'

/** Fields beside what a change says, which say nothing by themselves. */
const CONTEXT = new Set(['messaging_product', 'metadata'])
const MAX_FIELD = 128
const MAX_DETAILS = 8
const MAX_DETAIL = 120
const MAX_DEPTH = 4

/** One change of a payload. */
export interface Change {
  /** Its subject. One that does not say has messages or statuses. */
  field: string
  value: Readonly<Record<string, unknown>>
  /** Where the value stands in the payload, as a JSON Pointer. */
  path: string
  /** The business account. */
  account: string | undefined
  at: string | undefined
}

/** The updates of a list in a change; none where it is not there. */
export function itemsIn({ value, path }: Change, key: string, read: (raw: unknown) => UpdateFate): Update[] {
  const items = own(value, key)
  if (items === undefined) return []
  if (!Array.isArray(items)) return [malformedPart(items, `${path}/${key}`)]
  return items.map((raw, at) => ({ path: `${path}/${key}/${at}`, raw, ...read(raw) }))
}

/** An update for a part that should have contained some. */
export const malformedPart = (raw: unknown, path: string): Update => ({
  kind: 'unknown',
  fate: 'malformed',
  path,
  raw,
})

/** The keys of what a change says. */
export const keysIn = ({ value }: Pick<Change, 'value'>): string[] =>
  Object.keys(value).filter((key) => !CONTEXT.has(key))

/** A change, or a part of it, as something that happened to the channel. */
export function noticeIn({ field, account, at }: Change, value: unknown): UpdateFate {
  return {
    kind: 'notice',
    fate: 'kept',
    notice: {
      field: field.slice(0, MAX_FIELD),
      at: at ?? null,
      text: detailsIn(value).take(MAX_DETAILS).toArray().join(', '),
      value,
      identity: JSON.stringify([field, account, at, value]),
    },
  }
}

/** The texts and numbers in a value, by their keys. */
function* detailsIn(value: unknown, key = '', depth = 0): Generator<string, undefined> {
  if (isExactNumber(value)) yield `${key}${value.rawJSON}`
  else if (typeof value !== 'object' || value === null) {
    if (value !== null) yield `${key}${String(value).slice(0, MAX_DETAIL)}`
  } else if (depth < MAX_DEPTH) {
    for (const [name, one] of Object.entries(value))
      if (!CONTEXT.has(name)) yield* detailsIn(one, Array.isArray(value) ? key : `${name}: `, depth + 1)
  }
}
