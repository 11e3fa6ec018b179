import { readQuery } from '@parley/shared/list-query'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { requireReadable } from '../access/access.ts'
import { populate, populatedFields } from '../references/populate.ts'
import { parsePathId } from '../requests/path-id.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { cachingOf, isMasked, presenterFor } from '../secrets/presenter.ts'
import type { Dependencies } from './dependencies.ts'
import { locate } from './locate.ts'
import { sendDocument } from './preconditions.ts'

const documentQuery = z.object({ _populate: z.string().optional() })

/** `GET /rest/{resource}/{id}` */
export function readDocument(
  { database, authorizer, secrets }: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    const fields = populatedFields(definition, readQuery(documentQuery, req)._populate)
    const caller = callerOf(res)
    const read = await authorizer.require(caller, definition.name, 'read')
    const current = await locate({ database, definition, workspace: caller.workspace._id, path })
    const { version, doc } = requireReadable(read, current)
    const lookup = { database, authorizer, secrets, caller }
    const shown = (await presenterFor(lookup, definition.name))(doc)
    if (fields.length === 0) return sendDocument(req, res, { version, doc: shown, masked: isMasked(shown) })
    const [populated] = await populate(lookup, definition, { documents: [shown], fields })
    res.set('cache-control', cachingOf(populated)).json(populated)
  }
}
