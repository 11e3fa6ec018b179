import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { noParameters, readQuery } from '@parley/shared/list-query'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { callerOf } from '@parley/shared/service-app'
import type { Request, RequestHandler } from 'express'
import { documentFilter, requireWritable, type WriteAccess, writeAccess } from '../access/access.ts'
import { idParameter, ifMatch, ifNoneMatch, prefer } from '../description/parameters.ts'
import { resourceDescription } from '../description/resource-schemas.ts'
import { prefersStrict, requireReferences } from '../references/find-referenced.ts'
import { parsePathId } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { presentWritten } from '../secrets/presenter.ts'
import { authorOf } from '../store/stored-document.ts'
import { parseBody } from './body.ts'
import { documentToWrite, settleCredentials } from './build-for-caller.ts'
import type { Dependencies } from './dependencies.ts'
import { requirePreconditions, sendDocument } from './preconditions.ts'
import { type Storing, storeDocument } from './store-document.ts'

/** `PUT /rest/{resource}/{id}`: replaces the document, or creates it under an id or key not in use. */
export function putDocument(
  dependencies: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  const { database, authorizer, secrets } = dependencies
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    readQuery(noParameters, req)
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const access = await writeAccess(authorizer, caller, definition.name)
    const fields = parseBody(definition, req.body)
    if (prefersStrict(req, res)) {
      await requireReferences({ database, authorizer, caller }, { definition, fields, self: path.id })
    }
    const storing: Storing = {
      definition,
      workspace,
      author: authorOf(caller),
      path,
      build: replacing(dependencies, { req, definition, access, fields, key: path.key, caller }),
      guard: documentFilter(access.write),
    }
    const written = await storeDocument(dependencies, storing)
    await settleCredentials(dependencies, { definition, workspace, doc: written.doc })
    sendDocument(req, res, presentWritten(secrets, workspace, written))
  }
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

export function putOperation(definition: ResourceDefinition): DescribedOperation {
  const { path, one, schemas, written, refusals } = resourceDescription(definition)
  return {
    method: 'PUT',
    path,
    id: `put${definition.title}`,
    tag: definition.name,
    summary: `Replace ${one}, or create it`,
    description: 'Creates the document where there is none under the id; 200 either way.',
    parameters: [
      idParameter(definition),
      ifMatch,
      ifNoneMatch('`*` only creates; 412 where the document is there'),
      prefer,
    ],
    body: { schema: schemas.sent, example: definition.example },
    response: written,
    errors: ['invalid_id', 'precondition_failed', ...refusals],
  }
}
