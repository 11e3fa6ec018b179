import { mapYielding } from '@parley/shared/map-yielding'
import { pageOf } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { documentFilter } from '../access/access.ts'
import { populate } from '../references/populate.ts'
import { cursorAfter, listAsked, listParametersOf } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { resourceDescription } from '../resources/resource-schemas.ts'
import { cachingOf, presenterFor } from '../secrets/presenter.ts'
import { findPage } from '../store/find-page.ts'
import type { Dependencies } from './dependencies.ts'

/** `GET /rest/{resource}`: one page of what the caller may read, and the cursor of the next. */
export function listDocuments(definition: ResourceDefinition): Route<Dependencies> {
  const { name, title } = definition
  const { collection, stored, schemas } = resourceDescription(definition)
  return route({
    ...collection,
    method: 'GET',
    access: 'read',
    id: `list${name[0]?.toUpperCase() + name.slice(1)}`,
    summary: `List ${name}`,
    query: listParametersOf(definition),
    response: pageOf(title, schemas.read, stored),
    handle:
      ({ database, authorizer, secrets }: Dependencies) =>
      async (_req, res, asked) => {
        const { populated, ...query } = listAsked(definition, asked.query())
        const caller = callerOf(res)
        const readable = await authorizer.require(caller, name, 'read')
        const page = await findPage(database, definition, {
          ...query,
          workspace: caller.workspace._id,
          visible: documentFilter(readable),
        })
        const lookup = { database, authorizer, secrets, caller }
        const present = await presenterFor(lookup, name)
        const documents = await populate(lookup, definition, {
          documents: await mapYielding(page.documents, ({ doc }) => present(doc)),
          fields: populated,
        })
        res.set('cache-control', cachingOf(documents)).json({
          data: documents,
          next: page.end === undefined ? null : cursorAfter(query.sort, page.end),
        })
      },
  })
}
