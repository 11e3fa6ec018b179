import type { Authorizer } from '@parley/shared/authorizer'
import type { ResourceName } from '@parley/shared/configuration-resources'
import type { Caller } from '@parley/shared/internal-token'
import { safeInteger } from '@parley/shared/json-object'
import { queryFlag } from '@parley/shared/list-query'
import { type Route, route } from '@parley/shared/openapi/route'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Request } from 'express'
import { z } from 'zod'
import {
  documentFilter,
  requireReadable,
  requireWritable,
  type WriteAccess,
  writeAccess,
} from '../access/access.ts'
import { bindCredentials } from '../credentials/bind-credentials.ts'
import { parsePathId } from '../requests/list-query.ts'
import { idParameter, ifMatch, ifNoneMatch } from '../requests/parameters.ts'
import { allResources } from '../resources/all-resources.ts'
import type { Reference, ResourceDefinition } from '../resources/definition.ts'
import { resourceDescription } from '../resources/resource-schemas.ts'
import type { Database } from '../store/database.ts'
import {
  type Address,
  type Author,
  authorOf,
  keyPath,
  LIVE,
  listIndex,
  liveDocument,
} from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import type { Dependencies } from './dependencies.ts'
import { requirePreconditions } from './preconditions.ts'
import { locate } from './store-document.ts'

const LISTED_PER_FIELD = 20

const deleted = z
  .object({ _id: safeInteger, deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'What was deleted' })

/** `DELETE /rest/{resource}/{id}`; refused while others refer to the document, unless `?force=true`. */
export function deleteDocument(definition: ResourceDefinition): Route<Dependencies> {
  const { document, one } = resourceDescription(definition)
  return route({
    ...document,
    method: 'DELETE',
    access: 'write',
    id: `delete${definition.title}`,
    summary: `Delete ${one}`,
    parameters: [idParameter(definition), ifMatch, ifNoneMatch('A tag that the document must not have')],
    query: z.object({
      force: queryFlag.meta({ description: 'Also where others still refer to it', example: 'true' }),
    }),
    response: { schema: deleted, example: { _id: 1, deleted: true } },
    errors: ['invalid_id', 'not_found', 'still_referenced', 'precondition_failed'],
    handle: (dependencies: Dependencies) => async (req, res, asked) => {
      const path = parsePathId(definition, req.params.id)
      const { force } = asked.query()
      const caller = callerOf(res)
      const workspace = caller.workspace._id
      const access = await writeAccess(dependencies.authorizer, caller, definition.name)
      const { database } = dependencies
      const current = requireReadable(access.read, await locate({ database, definition, workspace, path }))
      requireWritable(access, current)
      requirePreconditions(req, current)
      const id = current.doc._id
      if (!force) await requireUnreferenced(dependencies, { caller, definition, id })
      const address = { workspace, id }
      await dependencies.writes.run(`${definition.name}/${workspace}/${id}`, () =>
        remove(dependencies, { req, definition, access, author: authorOf(caller), address }),
      )
      res.json({ _id: id, deleted: true })
    },
  })
}

async function requireUnreferenced(
  { database, authorizer }: Dependencies,
  options: { caller: Caller; definition: ResourceDefinition; id: number },
): Promise<void> {
  const { caller, definition, id } = options
  const target = { resource: definition.name, id }
  const { any, readable } = await referrersOf({ database, authorizer, caller, target })
  if (!any) return
  throw new Problem('still_referenced', {
    detail: 'Remove the references first, or delete with ?force=true.',
    extra: { referrers: readable },
  })
}

async function remove(
  dependencies: Dependencies,
  options: {
    req: Request<{ id: string }>
    definition: ResourceDefinition
    access: WriteAccess
    author: Author
    address: Address
  },
): Promise<void> {
  const { req, definition, access, author, address } = options
  const { workspace } = address
  await changeDocument({
    database: dependencies.database,
    definition,
    address,
    author,
    guard: documentFilter(access.write),
    next: async (current) => {
      requireWritable(access, requireReadable(access.read, current))
      requirePreconditions(req, current)
      // Whoever writes another one in its place is not to get what was for this one.
      await bindCredentials(dependencies, { definition, workspace, before: current?.doc, after: undefined })
      return undefined
    },
  })
}

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
async function referrersOf(options: {
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
