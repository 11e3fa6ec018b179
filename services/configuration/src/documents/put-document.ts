import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { type Route, route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import type { Request } from 'express'
import { documentFilter, requireWritable, type WriteAccess, writeAccess } from '../access/access.ts'
import { prefersStrict, requireReferences } from '../references/find-referenced.ts'
import { parsePathId } from '../requests/list-query.ts'
import { idParameter, ifMatch, ifNoneMatch, prefer } from '../requests/parameters.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { resourceDescription } from '../resources/resource-schemas.ts'
import { presentWritten } from '../secrets/presenter.ts'
import { authorOf } from '../store/stored-document.ts'
import { MAX_BODY_BYTES, parseBody } from './body.ts'
import { documentToWrite, settleCredentials } from './build-for-caller.ts'
import type { Dependencies } from './dependencies.ts'
import { requirePreconditions, sendDocument } from './preconditions.ts'
import { type Storing, storeDocument } from './store-document.ts'

/** `PUT /rest/{resource}/{id}`: replaces the document, or creates it under an id or key not in use. */
export function putDocument(definition: ResourceDefinition): Route<Dependencies> {
  const { document, one, schemas, written, refusals } = resourceDescription(definition)
  return route({
    ...document,
    method: 'PUT',
    access: 'write',
    id: `put${definition.title}`,
    summary: `Replace ${one}, or create it`,
    description: 'Creates the document where there is none under the id; 200 either way.',
    parameters: [
      idParameter(definition),
      ifMatch,
      ifNoneMatch('`*` only creates; 412 where the document is there'),
      prefer,
    ],
    body: { schema: schemas.sent, example: definition.example, maxBytes: MAX_BODY_BYTES },
    response: written,
    errors: ['invalid_id', 'precondition_failed', ...refusals],
    handle: (dependencies: Dependencies) => async (req, res, asked) => {
      const { database, authorizer, secrets } = dependencies
      const named = parsePathId(definition, req.params.id)
      asked.query()
      const caller = callerOf(res)
      const workspace = caller.workspace._id
      const access = await writeAccess(authorizer, caller, definition.name)
      const fields = parseBody(definition, req.body)
      if (prefersStrict(req, res)) {
        await requireReferences({ database, authorizer, caller }, { definition, fields, self: named.id })
      }
      const storing: Storing = {
        definition,
        workspace,
        author: authorOf(caller),
        path: named,
        build: replacing(dependencies, { req, definition, access, fields, key: named.key, caller }),
        guard: documentFilter(access.write),
      }
      const written = await storeDocument(dependencies, storing)
      await settleCredentials(dependencies, { definition, workspace, doc: written.doc })
      sendDocument(req, res, presentWritten(secrets, workspace, written))
    },
  })
}

function replacing(
  dependencies: Dependencies,
  options: {
    req: Request<{ id: string }>
    definition: ResourceDefinition
    access: WriteAccess
    fields: JsonObject
    key: string | undefined
    caller: Caller
  },
): Storing['build'] {
  const { req, access, ...write } = options
  return async (id, current) => {
    if (current !== undefined) requireWritable(access, current)
    requirePreconditions(req, current)
    return documentToWrite(dependencies, { ...write, access, id, current: current?.doc })
  }
}
