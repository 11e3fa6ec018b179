import type { Caller } from '@parley/shared/internal-token'
import { queryFlag, readQuery } from '@parley/shared/list-query'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Request, RequestHandler } from 'express'
import { z } from 'zod'
import { requireReadable, requireWritable, type WriteAccess, writeAccess } from '../access/access.ts'
import { documentFilter } from '../access/document-filter.ts'
import { referrersOf } from '../references/referrers.ts'
import { parsePathId } from '../requests/path-id.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Address, Author } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import { authorOf } from './author.ts'
import type { Dependencies } from './dependencies.ts'
import { locate } from './locate.ts'
import { requirePreconditions } from './preconditions.ts'

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
    await dependencies.writes.run(`${definition.name}/${workspace}/${id}`, () =>
      remove(dependencies, { req, definition, access, author: authorOf(caller), address: { workspace, id } }),
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
  { database }: Dependencies,
  options: {
    req: Request<{ id: string }>
    definition: ResourceDefinition
    access: WriteAccess
    author: Author
    address: Address
  },
): Promise<void> {
  const { req, definition, access, author, address } = options
  await changeDocument({
    database,
    definition,
    address,
    author,
    guard: documentFilter(access.write),
    next: (current) => {
      requireWritable(access, requireReadable(access.read, current))
      requirePreconditions(req, current)
      return undefined
    },
  })
}
