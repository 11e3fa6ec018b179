import { idCursor, pageLimit, readQuery } from '@parley/shared/list-query'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { Dependencies } from '../documents/dependencies.ts'
import { locate } from '../documents/store-document.ts'
import { parsePathId } from '../requests/path-id.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition, ResourceName } from '../resources/definition.ts'
import { findPage } from '../store/find-page.ts'
import type { LiveDocument } from '../store/stored-document.ts'

const MAX_CHANNELS = 200
const channelQuery = z.object({
  extId: z.string().optional(),
  limit: pageLimit.unwrap().default(MAX_CHANNELS),
  after: z.union([z.literal('').transform(() => undefined), idCursor]).optional(),
})

type Needed = Pick<Dependencies, 'database'>

/** What other services read without an account behind them: `/workspaces/{workspace}/…`. */
export function internalRoutes({ database }: Needed): Router {
  const router = Router({ caseSensitive: true })
  router.route('/workspaces/:workspace/channels').get(channels({ database })).all(methodNotAllowed('GET'))
  router
    .route('/workspaces/:workspace/:resource/:id')
    .get(oneDocument({ database }))
    .all(methodNotAllowed('GET'))
  return router
}

/**
 * `GET …/channels?extId=`: all with that external id (at most 200). Without it all there are, `limit` at a time
 * after the id `after`; `next` is where the next page begins. Lowest id first.
 */
function channels({ database }: Needed): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const { extId, limit, after } = readQuery(channelQuery, req)
    const workspace = workspaceOf(req.params)
    const page = await findPage(database, definitions.channels, {
      workspace,
      filters: extId === undefined ? [] : [['extId', extId]],
      sort: { field: '_id', descending: false },
      after: after === undefined ? undefined : { value: null, id: after },
      limit,
      visible: {},
    })
    const data = page.documents.map(stored)
    res.json(extId === undefined ? { data, next: page.end?.id ?? null } : { data })
  }
}

/** `GET …/{resource}/{id}`: the document with its version. */
function oneDocument({
  database,
}: Needed): RequestHandler<{ workspace: string; resource: string; id: string }> {
  return async (req, res) => {
    const definition = definitionOf(req.params.resource)
    const path = parsePathId(definition, req.params.id)
    const workspace = workspaceOf(req.params)
    const current = await locate({ database, definition, workspace, path })
    if (current === undefined) throw new Problem('not_found')
    res.json(stored(current))
  }
}

/** The document as it is stored: its secrets stay sealed, and who works with them opens them. */
const stored = ({ version, doc }: LiveDocument): object => ({ ...doc, version })

function workspaceOf({ workspace }: { workspace: string }): number {
  return parsePathId({ keyed: false }, workspace).id ?? 0
}

function definitionOf(resource: string): ResourceDefinition {
  if (!Object.hasOwn(definitions, resource)) throw new Problem('not_found')
  return definitions[resource as ResourceName]
}
