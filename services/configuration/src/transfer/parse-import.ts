import type { ResourceName } from '@parley/shared/configuration-resources'
import { type JsonObject, jsonObject, safeInteger } from '@parley/shared/json-object'
import { type FieldError, Problem } from '@parley/shared/problem'
import { fieldErrorsOf, validate } from '@parley/shared/validate'
import { z } from 'zod'
import { withoutOwnFields } from '../documents/body.ts'
import { parsePathId } from '../requests/list-query.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { requireFewSecretsInImport } from '../secrets/seal-fields.ts'
import { FORMAT_VERSION, TRANSFERRED } from './configuration-format.ts'

/** One document that is to be there after an import. */
export interface Imported {
  definition: ResourceDefinition
  id: number
  key?: string | undefined
  fields: JsonObject
  /** Where it stands in the body (a JSON Pointer). */
  path: string
}

const ownFields = z.looseObject({ _id: safeInteger.nonnegative(), key: z.string().nullish() })
const entries = z.array(jsonObject)
const importSchema = z.strictObject({
  version: z.literal(FORMAT_VERSION),
  resources: z.strictObject(
    Object.fromEntries(TRANSFERRED.map((name) => [name, entries.optional()])) as Record<
      ResourceName,
      z.ZodOptional<typeof entries>
    >,
  ),
})

/** The documents in an import's body. Throws `validation_failed` with the errors of all of them. */
export function parseImport(body: unknown): Imported[] {
  const { resources } = validate(importSchema, body)
  requireFewSecretsInImport(resources)
  const errors: FieldError[] = []
  const imported = TRANSFERRED.flatMap((name) => {
    const seen = new Set<unknown>()
    const keys = new Set<unknown>()
    return (resources[name] ?? []).flatMap((entry, at) => {
      const path = `/resources/${name}/${at}`
      if (seen.has(entry._id)) errors.push({ path, code: 'repeated', message: 'the id is there already' })
      if (entry._id !== undefined) seen.add(entry._id)
      if (keys.has(entry.key))
        errors.push({ path: `${path}/key`, code: 'repeated', message: 'the key is there already' })
      if (typeof entry.key === 'string') keys.add(entry.key)
      return parseEntry(definitions[name], entry, { path, errors })
    })
  })
  requireNone(errors)
  return imported
}

/** Throws `validation_failed` where there are errors, with their number. */
export function requireNone(errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  const detail = `The import has ${errors.length} errors; nothing was applied.`
  throw new Problem('validation_failed', { detail, errors: errors })
}

function parseEntry(
  definition: ResourceDefinition,
  entry: JsonObject,
  { path, errors }: { path: string; errors: FieldError[] },
): Imported[] {
  const fields = withoutOwnFields(definition, entry)
  const own = ownFields.safeParse(entry)
  const parses = [
    { error: own.error, value: entry },
    { error: definition.schema.safeParse(fields).error, value: fields },
  ]
  for (const { error, value } of parses) {
    if (error)
      errors.push(...fieldErrorsOf(error, value).map((each) => ({ ...each, path: path + each.path })))
  }
  if (!own.success) return []
  const key = own.data.key ?? undefined
  if (key !== undefined && !isKey(definition, key)) {
    errors.push({ path: `${path}/key`, code: 'bad_key', message: 'cannot be a key' })
  }
  return [{ definition, id: own.data._id, key, fields, path }]
}

function isKey(definition: ResourceDefinition, key: string): boolean {
  try {
    return parsePathId(definition, key).key !== undefined
  } catch {
    return false
  }
}
