import { mapYielding } from '@parley/shared/map-yielding'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { documentFilter } from '../access/access.ts'
import { listParameters } from '../description/parameters.ts'
import { resourceDescription } from '../description/resource-schemas.ts'
import { populate } from '../references/populate.ts'
import { cursorAfter, listQuery } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { cachingOf, presenterFor } from '../secrets/presenter.ts'
import { findPage } from '../store/find-page.ts'
import type { Dependencies } from './dependencies.ts'

/** `GET /rest/{resource}`: one page of what the caller may read, and the cursor of the next. */
export function listDocuments(
  { database, authorizer, secrets }: Dependencies,
  definition: ResourceDefinition,
): RequestHandler {
  const readList = listQuery(definition)
  return async (req, res) => {
    const { populated, ...query } = readList(req)
    const caller = callerOf(res)
    const readable = await authorizer.require(caller, definition.name, 'read')
    const page = await findPage(database, definition, {
      ...query,
      workspace: caller.workspace._id,
      visible: documentFilter(readable),
    })
    const lookup = { database, authorizer, secrets, caller }
    const present = await presenterFor(lookup, definition.name)
    const documents = await populate(lookup, definition, {
      documents: await mapYielding(page.documents, ({ doc }) => present(doc)),
      fields: populated,
    })
    res.set('cache-control', cachingOf(documents)).json({
      data: documents,
      next: page.end === undefined ? null : cursorAfter(query.sort, page.end),
    })
  }
}

export function listOperation(definition: ResourceDefinition): DescribedOperation {
  const { name, title } = definition
  const { collection, stored, schemas } = resourceDescription(definition)
  const page = z
    .object({ data: z.array(schemas.read), next: z.string().nullable() })
    .meta({ id: `${title}Page` })
  return {
    method: 'GET',
    path: collection,
    id: `list${name[0]?.toUpperCase() + name.slice(1)}`,
    tag: name,
    summary: `List ${name}`,
    parameters: listParameters(definition),
    response: { schema: page, example: { data: [stored], next: null } },
    errors: ['validation_failed'],
  }
}
