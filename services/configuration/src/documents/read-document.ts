import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { requireReadable } from '../access/access.ts'
import { populate, populatedFields } from '../references/populate.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Dependencies } from './dependencies.ts'
import { locate } from './locate.ts'
import { parameters } from './parameters.ts'
import { parsePathId } from './path-id.ts'
import { sendDocument } from './preconditions.ts'

/** `GET /rest/{resource}/{id}` */
export function readDocument(
  { database, authorizer }: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    const fields = populatedFields(definition, parameters(req, ['_populate']).get('_populate'))
    const caller = callerOf(res)
    const read = await authorizer.require(caller, definition.name, 'read')
    const current = await locate({ database, definition, workspace: caller.workspace._id, path })
    const readable = requireReadable(read, current)
    if (fields.length === 0) return sendDocument(req, res, readable)
    const lookup = { database, authorizer, caller }
    const [doc] = await populate(lookup, definition, { documents: [readable.doc], fields })
    res.set('cache-control', 'private, no-cache').json(doc)
  }
}
