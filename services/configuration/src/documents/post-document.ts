import { type Route, route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { writeAccess } from '../access/access.ts'
import { prefersStrict, requireReferences } from '../references/find-referenced.ts'
import { prefer } from '../requests/parameters.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { resourceDescription } from '../resources/resource-schemas.ts'
import { presentWritten } from '../secrets/presenter.ts'
import { authorOf } from '../store/stored-document.ts'
import { createDocument } from '../store/write-document.ts'
import { MAX_BODY_BYTES, parseBody } from './body.ts'
import { documentToWrite, settleCredentials } from './build-for-caller.ts'
import type { Dependencies } from './dependencies.ts'
import { sendDocument } from './preconditions.ts'

/** `POST /rest/{resource}`: a new document under the next id. */
export function postDocument(definition: ResourceDefinition): Route<Dependencies> {
  const { collection, one, schemas, written, refusals } = resourceDescription(definition)
  return route({
    ...collection,
    method: 'POST',
    access: 'write',
    id: `create${definition.title}`,
    summary: `Create ${one}`,
    description: 'Under the next free id.',
    parameters: [prefer],
    body: { schema: schemas.sent, example: definition.example, maxBytes: MAX_BODY_BYTES },
    response: written,
    errors: [...refusals],
    handle: (dependencies: Dependencies) => async (req, res, asked) => {
      const { database, ids, authorizer, secrets } = dependencies
      asked.query()
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
    },
  })
}
