import type { Authorizer } from '@parley/shared/authorizer'
import type { ResourceName } from '@parley/shared/configuration-resources'
import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import type { Request, Response } from 'express'
import { documentFilter } from '../access/access.ts'
import { type Reference, type ResourceDefinition, valueAt } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { type Address, LIVE, type StoredDocument } from '../store/stored-document.ts'

const IDS_PER_QUERY = 5_000
const STRICT = /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:$|[,;])/i
const MAX_ERRORS = 50

/** One id in a document, and its place (a JSON Pointer). */
export interface FoundReference {
  path: string
  to: ResourceName
  id: number
}

/** Every reference in a document, whether or not there is such a document. */
export function referencesIn(
  { references }: Pick<ResourceDefinition, 'references'>,
  doc: JsonObject,
): FoundReference[] {
  return references
    .filter((reference) => applies(reference, doc))
    .flatMap((reference) => {
      const value = valueAt(doc, reference.field)
      const path = `/${reference.field.replaceAll('.', '/')}`
      if (typeof value === 'number') return [{ path, to: reference.to, id: value }]
      if (!Array.isArray(value)) return []
      // A free-form field may hold anything.
      return value.flatMap((id: unknown, at) =>
        typeof id === 'number' ? [{ path: `${path}/${at}`, to: reference.to, id }] : [],
      )
    })
}

/** True if the field is a reference in this document. */
export function applies({ when }: Reference, doc: JsonObject): boolean {
  return when === undefined || when.values.includes(String(valueAt(doc, when.field)))
}

export interface Lookup {
  database: Database
  authorizer: Authorizer
  caller: Caller
}

/** The documents with these ids that are there for the caller to read, as they are stored. */
export async function* findReferenced(
  { database, authorizer, caller }: Lookup,
  requested: { to: ResourceName; ids: Iterable<number>; idsOnly: boolean },
): AsyncGenerator<StoredDocument> {
  const read = await authorizer.decide(caller, requested.to, 'read')
  for (const some of addressesOf(caller.workspace._id, requested.ids)) {
    yield* database
      .documents(requested.to)
      .find({ $and: [{ _id: { $in: some }, ...LIVE }, documentFilter(read)] })
      .project<StoredDocument>(requested.idsOnly ? { _id: 1 } : {})
  }
}

/** Each id once, as many together as one query takes. */
export function* addressesOf(workspace: number, given: Iterable<number>): Generator<Address[]> {
  const ids = [...new Set(given)]
  for (let at = 0; at < ids.length; at += IDS_PER_QUERY)
    yield ids.slice(at, at + IDS_PER_QUERY).map((id) => ({ workspace, id }))
}

/** True if the caller asked to have dangling references refused; the response then says so. */
export function prefersStrict(req: Request, res: Response): boolean {
  const strict = STRICT.test(req.get('prefer') ?? '')
  if (strict) res.set('preference-applied', 'handling=strict')
  return strict
}

/**
 * Throws `validation_failed` naming every reference to a document that is not there for the caller. A
 * reference to `self` counts as being there.
 */
export async function requireReferences(
  lookup: Lookup,
  options: { definition: ResourceDefinition; fields: JsonObject; self: number | undefined },
): Promise<void> {
  const { definition, fields, self } = options
  const missing: FoundReference[] = []
  for (const [to, references] of Map.groupBy(referencesIn(definition, fields), ({ to }) => to)) {
    const there = await idsThere(lookup, to, references)
    if (to === definition.name && self !== undefined) there.add(self)
    missing.push(...references.filter(({ id }) => !there.has(id)))
  }
  if (missing.length === 0) return
  throw new Problem('validation_failed', {
    errors: missing.slice(0, MAX_ERRORS).map(({ path, to, id }) => ({
      path,
      code: 'dangling_reference',
      message: `there is no ${to}/${id}`,
    })),
  })
}

/** Which of the ids in `references` exist. */
async function idsThere(
  lookup: Lookup,
  to: ResourceName,
  references: readonly FoundReference[],
): Promise<Set<number>> {
  const there = new Set<number>()
  const requested = { to, ids: references.map(({ id }) => id), idsOnly: true }
  for await (const { _id } of findReferenced(lookup, requested)) there.add(_id.id)
  return there
}
