import { type Route, route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { requireReadable } from '../access/access.ts'
import { populate, populatedFields } from '../references/populate.ts'
import { parsePathId, populateQuery } from '../requests/list-query.ts'
import { idParameter, ifNoneMatch } from '../requests/parameters.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { etag, resourceDescription } from '../resources/resource-schemas.ts'
import { cachingOf, isMasked, presenterFor } from '../secrets/presenter.ts'
import type { Dependencies } from './dependencies.ts'
import { sendDocument } from './preconditions.ts'
import { locate } from './store-document.ts'

/** `GET /rest/{resource}/{id}` */
export function readDocument(definition: ResourceDefinition): Route<Dependencies> {
  const { document, one, stored, schemas } = resourceDescription(definition)
  return route({
    ...document,
    method: 'GET',
    access: 'read',
    id: `read${definition.title}`,
    summary: `Read ${one}`,
    parameters: [idParameter(definition), ifNoneMatch('A tag that is known already: then 304')],
    query: z.object(populateQuery(definition)),
    response: { schema: schemas.read, example: stored, headers: [etag] },
    others: { 304: { description: 'It still has the tag that was sent' } },
    errors: ['invalid_id', 'not_found'],
    handle:
      ({ database, authorizer, secrets }: Dependencies) =>
      async (req, res, asked) => {
        const path = parsePathId(definition, req.params.id)
        const fields = populatedFields(definition, asked.query()._populate)
        const caller = callerOf(res)
        const read = await authorizer.require(caller, definition.name, 'read')
        const current = await locate({ database, definition, workspace: caller.workspace._id, path })
        const { version, doc } = requireReadable(read, current)
        const lookup = { database, authorizer, secrets, caller }
        const shown = (await presenterFor(lookup, definition.name))(doc)
        if (fields.length === 0)
          return sendDocument(req, res, { version, doc: shown, masked: isMasked(shown) })
        const [populated] = await populate(lookup, definition, { documents: [shown], fields })
        res.set('cache-control', cachingOf(populated)).json(populated)
      },
  })
}
