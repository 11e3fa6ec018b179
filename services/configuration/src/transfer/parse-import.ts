import { type JsonObject, safeInteger } from '@parley/shared/json-object'
import { type Fault, Problem } from '@parley/shared/problem'
import { faultsOf, validate } from '@parley/shared/validate'
import { z } from 'zod'
import { withoutOwnFields } from '../documents/body.ts'
import { parsePathId } from '../documents/path-id.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition, ResourceName } from '../resources/definition.ts'
import { FORMAT_VERSION, TRANSFERRED } from './transferred.ts'

/** One document that is to be there after an import. */
export interface Imported {
  definition: ResourceDefinition
  id: number
  key?: string | undefined
  fields: JsonObject
  /** Where it stands in the body (a JSON Pointer). */
  path: string
}

const entries = z.array(z.looseObject({ _id: safeInteger.nonnegative(), key: z.string().nullish() }))
const importSchema = z.strictObject({
  version: z.literal(FORMAT_VERSION),
  resources: z.strictObject(
    Object.fromEntries(TRANSFERRED.map((name) => [name, entries.optional()])) as Record<
      ResourceName,
      z.ZodOptional<typeof entries>
    >,
  ),
})

const MAX_FAULTS = 50

/** The documents in an import's body. Throws `validation_failed` with the faults of all of them. */
export function parseImport(body: unknown): Imported[] {
  const { resources } = validate(importSchema, body)
  const faults: Fault[] = []
  const imported = TRANSFERRED.flatMap((name) => {
    const seen = new Set<number>()
    return (resources[name] ?? []).map((entry, at) => {
      const path = `/resources/${name}/${at}`
      if (seen.has(entry._id)) faults.push({ path, code: 'repeated', message: 'the id is there already' })
      seen.add(entry._id)
      return parseEntry(definitions[name], entry, { path, faults })
    })
  })
  if (faults.length > 0) throw new Problem('validation_failed', { errors: faults.slice(0, MAX_FAULTS) })
  return imported
}

function parseEntry(
  definition: ResourceDefinition,
  entry: JsonObject & { _id: number; key?: string | null | undefined },
  { path, faults }: { path: string; faults: Fault[] },
): Imported {
  const fields = withoutOwnFields(entry)
  const { error } = definition.schema.safeParse(fields)
  if (error) faults.push(...faultsOf(error).map((fault) => ({ ...fault, path: path + fault.path })))
  const key = entry.key ?? undefined
  if (key !== undefined && !isKey(definition, key)) {
    faults.push({ path: `${path}/key`, code: 'bad_key', message: 'cannot be a key' })
  }
  return { definition, id: entry._id, key, fields, path }
}

function isKey(definition: ResourceDefinition, key: string): boolean {
  try {
    return parsePathId(definition, key).key !== undefined
  } catch {
    return false
  }
}
