import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { documentFilter } from '../access/document-filter.ts'
import { populate } from '../references/populate.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { presentAll } from '../secrets/present-all.ts'
import { cachingOf, presenterFor } from '../secrets/presenter.ts'
import { findPage } from '../store/find-page.ts'
import type { Dependencies } from './dependencies.ts'
import { cursorAfter, listQuery } from './list-query.ts'

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
      documents: await presentAll(page.documents, ({ doc }) => present(doc)),
      fields: populated,
    })
    res.set('cache-control', cachingOf(documents)).json({
      data: documents,
      next: page.end === undefined ? null : cursorAfter(query.sort, page.end),
    })
  }
}
