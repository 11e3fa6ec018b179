import type { Caller } from '@parley/shared/internal-token'
import { safeInteger } from '@parley/shared/json-object'
import { queryFlag, readQuery } from '@parley/shared/list-query'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Request, RequestHandler } from 'express'
import { z } from 'zod'
import {
  documentFilter,
  requireReadable,
  requireWritable,
  type WriteAccess,
  writeAccess,
} from '../access/access.ts'
import { bindCredentials } from '../credentials/bind-credentials.ts'
import { flagParameter, idParameter, ifMatch, ifNoneMatch } from '../description/parameters.ts'
import { resourceDescription } from '../description/resource-schemas.ts'
import { referrersOf } from '../references/referrers.ts'
import { parsePathId } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { type Address, type Author, authorOf } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import type { Dependencies } from './dependencies.ts'
import { requirePreconditions } from './preconditions.ts'
import { locate } from './store-document.ts'

const deleteQuery = z.object({ force: queryFlag })

/** `DELETE /rest/{resource}/{id}`; refused while others refer to the document, unless `?force=true`. */
export function deleteDocument(
  dependencies: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    const { force } = readQuery(deleteQuery, req)
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
  }
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

const deleted = z
  .object({ _id: safeInteger, deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'What was deleted' })

export function deleteOperation(definition: ResourceDefinition): DescribedOperation {
  const { path, one } = resourceDescription(definition)
  return {
    method: 'DELETE',
    path,
    id: `delete${definition.title}`,
    tag: definition.name,
    summary: `Delete ${one}`,
    parameters: [
      idParameter(definition),
      { ...flagParameter('force', 'Also where others still refer to it'), example: 'true' },
      ifMatch,
      ifNoneMatch('A tag that the document must not have'),
    ],
    response: { schema: deleted, example: { _id: 1, deleted: true } },
    errors: ['invalid_id', 'not_found', 'still_referenced', 'precondition_failed', 'validation_failed'],
  }
}
