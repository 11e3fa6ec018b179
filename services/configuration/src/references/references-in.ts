import type { JsonObject } from '@parley/shared/json-object'
import type { Reference, ResourceDefinition, ResourceName } from '../resources/definition.ts'
import { valueAt } from '../resources/value-at.ts'

/** One id in a document, and its place (a JSON Pointer). */
export interface FoundReference {
  path: string
  to: ResourceName
  id: number
}

/** Every reference in a document, whether or not there is such a document. */
export function referencesIn(definition: ResourceDefinition, doc: JsonObject): FoundReference[] {
  return definition.references
    .filter((reference) => applies(reference, doc))
    .flatMap((reference) => {
      const value = valueAt(doc, reference.field)
      const path = `/${reference.field.replaceAll('.', '/')}`
      if (typeof value === 'number') return [{ path, to: reference.to, id: value }]
      if (!Array.isArray(value)) return []
      return value.map((id: number, at) => ({ path: `${path}/${at}`, to: reference.to, id }))
    })
}

/** Whether the field is a reference in this document. */
export function applies({ when }: Reference, doc: JsonObject): boolean {
  return when === undefined || when.values.includes(String(valueAt(doc, when.field)))
}
