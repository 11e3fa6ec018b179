import { defined } from '@parley/shared/defined'
import { pointerSegment } from '@parley/shared/json-body'
import type { JsonObject } from '@parley/shared/json-object'
import type { FieldChange } from '../store/history-entry.ts'

const MAX_CHANGES = 500

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
