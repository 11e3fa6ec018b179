import type { JsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import type { Request, Response } from 'express'
import type { ResourceDefinition, ResourceName } from '../resources/definition.ts'
import { findReferenced, type Lookup } from './find-referenced.ts'
import { type FoundReference, referencesIn } from './references-in.ts'

const STRICT = /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:$|[,;])/i
const MAX_ERRORS = 50

/** Whether the caller asked that dangling references be refused; the response then says so. */
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
export async function idsThere(
  lookup: Lookup,
  to: ResourceName,
  references: readonly FoundReference[],
): Promise<Set<number>> {
  const there = new Set<number>()
  const requested = { to, ids: references.map(({ id }) => id), idsOnly: true }
  for await (const { _id } of findReferenced(lookup, requested)) there.add(_id.id)
  return there
}
