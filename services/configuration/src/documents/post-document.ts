import { noParameters, readQuery } from '@parley/shared/list-query'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { writeAccess } from '../access/access.ts'
import { prefer } from '../description/parameters.ts'
import { resourceDescription } from '../description/resource-schemas.ts'
import { prefersStrict, requireReferences } from '../references/find-referenced.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { presentWritten } from '../secrets/presenter.ts'
import { authorOf } from '../store/stored-document.ts'
import { createDocument } from '../store/write-document.ts'
import { parseBody } from './body.ts'
import { documentToWrite, settleCredentials } from './build-for-caller.ts'
import type { Dependencies } from './dependencies.ts'
import { sendDocument } from './preconditions.ts'

/** `POST /rest/{resource}`: a new document under the next id. */
export function postDocument(dependencies: Dependencies, definition: ResourceDefinition): RequestHandler {
  const { database, ids, authorizer, secrets } = dependencies
  return async (req, res) => {
    readQuery(noParameters, req)
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const author = authorOf(caller)
    const access = await writeAccess(authorizer, caller, definition.name)
    const fields = parseBody(definition, req.body)
    if (prefersStrict(req, res)) {
      await requireReferences({ database, authorizer, caller }, { definition, fields, self: undefined })
    }
    const build = (id: number) =>
      documentToWrite(dependencies, { definition, caller, access, current: undefined, id, fields })
    const created = await createDocument({ database, ids, definition, workspace, author, build })
    await settleCredentials(dependencies, { definition, workspace, doc: created.doc })
    sendDocument(req, res, presentWritten(secrets, workspace, created))
  }
}

export function postOperation(definition: ResourceDefinition): DescribedOperation {
  const { collection, one, schemas, written, refusals } = resourceDescription(definition)
  return {
    method: 'POST',
    path: collection,
    id: `create${definition.title}`,
    tag: definition.name,
    summary: `Create ${one}`,
    description: 'Under the next free id.',
    parameters: [prefer],
    body: { schema: schemas.sent, example: definition.example },
    response: written,
    errors: [...refusals],
  }
}
