import type { Authorizer } from '@parley/shared/authorizer'
import type { ResourceName } from '@parley/shared/configuration-resources'
import type { Caller } from '@parley/shared/internal-token'
import { allows } from '@parley/shared/permission/decide'
import { allResources } from '../resources/all-resources.ts'
import type { Reference, ResourceDefinition } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { keyPath, LIVE, listIndex, liveDocument } from '../store/stored-document.ts'

const LISTED_PER_FIELD = 20

/** A document that refers to another one. */
interface Referrer {
  resource: ResourceName
  _id: number
  field: string
}

/**
 * Who refers to a document, itself aside: whether anyone does, and of these the ones the caller may read, at
 * most 20 for each field.
 */
export async function referrersOf(options: {
  database: Database
  authorizer: Authorizer
  caller: Caller
  target: { resource: ResourceName; id: number }
}): Promise<{ any: boolean; readable: Referrer[] }> {
  const found = await Promise.all(
    allResources.flatMap((definition) =>
      definition.references
        .filter(({ to }) => to === options.target.resource)
        .map((reference) => throughField({ ...options, definition, reference })),
    ),
  )
  return { any: found.some(({ any }) => any), readable: found.flatMap(({ readable }) => readable) }
}

async function throughField(options: {
  database: Database
  authorizer: Authorizer
  caller: Caller
  target: { resource: ResourceName; id: number }
  definition: ResourceDefinition
  reference: Reference
}) {
  const { database, authorizer, caller, target, definition, reference } = options
  const { name: resource } = definition
  const stored = await database
    .documents(resource)
    .find({
      '_id.workspace': caller.workspace._id,
      ...LIVE,
      [keyPath(reference.field)]: target.id,
      ...(resource === target.resource ? { '_id.id': { $ne: target.id } } : {}),
      ...(reference.when ? { [keyPath(reference.when.field)]: { $in: [...reference.when.values] } } : {}),
    })
    .hint(listIndex({ filter: reference.field, sort: '_id' }))
    .limit(LISTED_PER_FIELD)
    .toArray()
  const read = await authorizer.decide(caller, resource, 'read')
  const readable = stored.flatMap((each) => {
    const current = liveDocument(each)
    if (current === undefined || !allows(read, current.doc)) return []
    return [{ resource, _id: current.doc._id, field: reference.field }]
  })
  return { any: stored.length > 0, readable }
}
