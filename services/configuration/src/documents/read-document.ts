import { readQuery } from '@parley/shared/list-query'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { requireReadable } from '../access/access.ts'
import { idParameter, ifNoneMatch, populateParameter } from '../description/parameters.ts'
import { etag, resourceDescription } from '../description/resource-schemas.ts'
import { populate, populatedFields } from '../references/populate.ts'
import { parsePathId } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { cachingOf, isMasked, presenterFor } from '../secrets/presenter.ts'
import type { Dependencies } from './dependencies.ts'
import { sendDocument } from './preconditions.ts'
import { locate } from './store-document.ts'

const documentQuery = z.object({ _populate: z.string().optional() })

/** `GET /rest/{resource}/{id}` */
export function readDocument(
  { database, authorizer, secrets }: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    const fields = populatedFields(definition, readQuery(documentQuery, req)._populate)
    const caller = callerOf(res)
    const read = await authorizer.require(caller, definition.name, 'read')
    const current = await locate({ database, definition, workspace: caller.workspace._id, path })
    const { version, doc } = requireReadable(read, current)
    const lookup = { database, authorizer, secrets, caller }
    const shown = (await presenterFor(lookup, definition.name))(doc)
    if (fields.length === 0) return sendDocument(req, res, { version, doc: shown, masked: isMasked(shown) })
    const [populated] = await populate(lookup, definition, { documents: [shown], fields })
    res.set('cache-control', cachingOf(populated)).json(populated)
  }
}

export function readOperation(definition: ResourceDefinition): DescribedOperation {
  const { path, one, stored, schemas } = resourceDescription(definition)
  return {
    method: 'GET',
    path,
    id: `read${definition.title}`,
    tag: definition.name,
    summary: `Read ${one}`,
    parameters: [
      idParameter(definition),
      ...populateParameter(definition),
      ifNoneMatch('A tag that is known already: then 304'),
    ],
    response: { schema: schemas.read, example: stored, headers: [etag] },
    others: { 304: { description: 'It still has the tag that was sent' } },
    errors: ['invalid_id', 'not_found', 'validation_failed'],
  }
}
