import { MASK } from '@parley/shared/secret-names'
import { t } from './language.ts'
import { InputError } from './problems.ts'

/** A change of a document, as its history lists it. */
export interface Change {
  version: number
  operation: string
  at: string
  by: { username: string }
  /** Null where it is not known what changed. */
  changes: { path: string; before?: unknown }[] | null
}

/** Returns a body that restores a deleted document. Throws where history lacks a value of it, or masks one. */
export function bodyBefore({ changes }: Pick<Change, 'changes'>): Record<string, unknown> {
  const fields = (changes ?? []).filter(({ before }) => before !== undefined)
  if (fields.length === 0)
    throw new InputError(t('The history does not have what it was any more, so it can’t be restored.'), [])
  if (fields.some(({ before }) => isMasked(before)))
    throw new InputError(
      t('The history hides its secrets from you. Who may write all of these can restore it.'),
      [],
    )
  return Object.fromEntries(fields.map(({ path, before }) => [path.slice(1), before]))
}

const isMasked = (value: unknown): boolean => JSON.stringify(value).includes(MASK)
