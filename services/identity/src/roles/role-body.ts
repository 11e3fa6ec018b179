import type { PermissionEntry } from '@parley/shared/permission/decide'
import { validateEntry } from '@parley/shared/permission/entry'
import { type Fault, Problem } from '@parley/shared/problem'
import { z } from 'zod'
import { label } from '../accounts/user-fields.ts'

const MAX_ENTRIES = 100
const part = z.union([z.string(), z.boolean(), z.null()])

const permissions = z
  .array(z.strictObject({ schema: part, read: part.optional(), write: part.optional() }))
  .max(MAX_ENTRIES)
const name = label.refine((text) => text !== '', { error: 'is empty' })

/** A new role, or a whole one. */
export const wholeRole = z.strictObject({ name, permissions })
/** What may change of a role. */
export const partOfRole = wholeRole.partial()

/** Throws `validation_failed` with the column for every expression that does not parse. */
export function requireEntriesParse(entries: readonly PermissionEntry[]): void {
  const faults: Fault[] = entries.flatMap((entry, at) =>
    validateEntry(entry).map(({ path, column, message }) => ({
      path: `/permissions/${at}${path}`,
      code: 'bad_expression',
      message: `column ${column}: ${message}`,
      column,
    })),
  )
  if (faults.length > 0) throw new Problem('validation_failed', { errors: faults })
}
