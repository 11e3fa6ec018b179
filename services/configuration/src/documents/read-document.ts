import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { requireReadable } from '../access/access.ts'
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
    parameters(req, [])
    const caller = callerOf(res)
    const read = await authorizer.require(caller, definition.name, 'read')
    const current = await locate({ database, definition, workspace: caller.workspace._id, path })
    sendDocument(req, res, requireReadable(read, current))
  }
}
