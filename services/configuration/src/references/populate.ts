import type { ResourceName } from '@parley/shared/configuration-resources'
import type { JsonObject } from '@parley/shared/json-object'
import { parameterError } from '@parley/shared/list-query'
import type { SecretBox } from '@parley/shared/sealed-value'
import mongoose from 'mongoose'
import type { ResourceDefinition } from '../resources/definition.ts'
import { presenterFor } from '../secrets/presenter.ts'
import { liveDocument, type ResourceDocument } from '../store/stored-document.ts'
import { applies, findReferenced, type Lookup, referencesIn } from './find-referenced.ts'

const { calculateObjectSize } = mongoose.mongo.BSON
const MAX_DOCUMENTS = 2_000
const MAX_BYTES = 8 * 1024 * 1024

type PopulateLookup = Lookup & { secrets: Pick<SecretBox, 'open'> }

/** The reference fields that `_populate` names, separated by commas. Throws `validation_failed`. */
export function populatedFields(definition: ResourceDefinition, text: string | undefined): string[] {
  if (text === undefined) return []
  const fields = [...new Set(text.split(','))]
  const known = [...new Set(definition.references.map(({ field }) => field))]
  if (fields.every((field) => known.includes(field))) return fields
  throw parameterError(
    '_populate',
    `expected some of ${known.join(', ') || 'nothing: there are no references'}`,
  )
}

/**
 * The documents with the ids in `fields` replaced by the documents they name. An id stays where there is no
 * such document for the caller. Throws `validation_failed` when that would be over 2,000 documents, or 8 MiB with
 * each as often as it is named.
 */
export async function populate(
  lookup: PopulateLookup,
  definition: ResourceDefinition,
  options: { documents: readonly ResourceDocument[]; fields: readonly string[] },
): Promise<ResourceDocument[]> {
  const { documents, fields } = options
  if (fields.length === 0) return [...documents]
  const chosen = {
    ...definition,
    references: definition.references.filter(({ field }) => fields.includes(field)),
  }
  const found = await findAll(
    lookup,
    documents.flatMap((doc) => referencesIn(chosen, doc)),
  )
  return documents.map((doc) =>
    chosen.references
      .filter((reference) => applies(reference, doc))
      .reduce<ResourceDocument>((filled, { field, to }) => {
        const fill = (value: unknown) => found.get(`${to}/${value}`) ?? value
        const replace = (value: unknown) => (Array.isArray(value) ? value.map(fill) : fill(value))
        return replaceAt(filled, field.split('.'), replace) as ResourceDocument
      }, doc),
  )
}

async function findAll(
  lookup: PopulateLookup,
  references: readonly { to: ResourceName; id: number }[],
): Promise<Map<string, ResourceDocument>> {
  const found = new Map<string, ResourceDocument>()
  let bytes = 0
  for (const [to, group] of Map.groupBy(references, (reference) => reference.to)) {
    const ids = group.map(({ id }) => id)
    const uses = new Map<number, number>()
    for (const id of ids) uses.set(id, (uses.get(id) ?? 0) + 1)
    const present = await presenterFor(lookup, to)
    for await (const stored of findReferenced(lookup, { to, ids, idsOnly: false })) {
      // The answer has it in each of these places.
      bytes += calculateObjectSize(stored) * (uses.get(stored._id.id) ?? 1)
      const doc = liveDocument(stored)?.doc
      if (doc !== undefined) found.set(`${to}/${doc._id}`, present(doc))
      if (found.size > MAX_DOCUMENTS || bytes > MAX_BYTES) {
        throw parameterError('_populate', 'is too much for one answer; lower the limit')
      }
    }
  }
  return found
}

/** `object` with the value at the end of `path` replaced, where there is one. */
function replaceAt(object: JsonObject, path: string[], replace: (value: unknown) => unknown): JsonObject {
  const [key, ...rest] = path
  if (key === undefined || !Object.hasOwn(object, key)) return object
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      if (name !== key) return [name, value]
      if (rest.length === 0) return [name, replace(value)]
      return [
        name,
        typeof value === 'object' && value !== null ? replaceAt(value as JsonObject, rest, replace) : value,
      ]
    }),
  )
}
