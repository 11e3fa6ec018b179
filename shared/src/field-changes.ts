import { z } from 'zod'
import { defined } from './defined.ts'
import { type JsonObject, pointerSegment, safeInteger } from './json-object.ts'

const MAX_CHANGES = 500

/** One place (a JSON Pointer) at which two states differ; a side that has nothing there is left out. */
export interface FieldChange {
  path: string
  before?: unknown
  after?: unknown
}

const change = z.object({
  path: z.string().describe('A JSON Pointer'),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
})
/** A version of a document in its history. */
const historyEntry = z.object({
  version: z.number().int(),
  operation: z.enum(['created', 'updated', 'deleted']),
  at: z.iso.datetime(),
  by: z.object({ _id: safeInteger, username: z.string() }),
  changes: z.array(change).nullable().describe('Null where they are not known'),
})
export type HistoryEntryView = z.input<typeof historyEntry>

/** A page of the history of a document. */
export const historyPage = z
  .object({ data: z.array(historyEntry), next: z.string().nullable() })
  .meta({ id: 'History', description: 'What happened to a document, the latest first' })

/**
 * How `after` differs from `before`: objects by their members, arrays as a whole. More than 500 differences
 * are listed by top-level field.
 */
export function changesBetween(before: JsonObject, after: JsonObject): FieldChange[] {
  const detailed = compare(before, after, { path: '', deep: true })
  return detailed.length <= MAX_CHANGES ? detailed : compare(before, after, { path: '', deep: false })
}

function compare(before: JsonObject, after: JsonObject, at: { path: string; deep: boolean }): FieldChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const path = `${at.path}/${pointerSegment(name)}`
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    const now = Object.hasOwn(after, name) ? after[name] : undefined
    if (at.deep && isObject(old) && isObject(now)) return compare(old, now, { path, deep: true })
    if (JSON.stringify(old) === JSON.stringify(now)) return []
    return [{ path, ...defined({ before: old }), ...defined({ after: now }) }]
  })
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
