import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { type RequestHandler, Router } from 'express'
import { locate } from '../documents/locate.ts'
import { parameterFault, parameters } from '../documents/parameters.ts'
import { parsePathId } from '../documents/path-id.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition, ResourceName } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { findPage } from '../store/find-page.ts'
import type { LiveDocument } from '../store/stored-document.ts'

const MAX_CHANNELS = 200

/** What other services read without an account behind them: `/workspaces/{workspace}/…`. */
export function internalRoutes(database: Database): Router {
  const router = Router()
  router.route('/workspaces/:workspace/channels').get(channelsByExtId(database)).all(methodNotAllowed('GET'))
  router.route('/workspaces/:workspace/:resource/:id').get(oneDocument(database)).all(methodNotAllowed('GET'))
  return router
}

/** `GET …/channels?extId=`: all with that external id (at most 200), lowest id first. */
function channelsByExtId(database: Database): RequestHandler<{ workspace: string }> {
  return async (req, res) => {
    const extId = parameters(req, ['extId']).get('extId')
    if (extId === undefined) throw parameterFault('extId', 'is required')
    const page = await findPage(database, definitions.channels, {
      workspace: workspaceOf(req.params),
      filters: [['extId', extId]],
      sort: { field: '_id', descending: false },
      limit: MAX_CHANNELS,
      visible: {},
    })
    res.json({ data: page.documents.map(withVersion) })
  }
}

/** `GET …/{resource}/{id}`: the document with its version. */
function oneDocument(
  database: Database,
): RequestHandler<{ workspace: string; resource: string; id: string }> {
  return async (req, res) => {
    const definition = definitionOf(req.params.resource)
    const path = parsePathId(definition, req.params.id)
    const current = await locate({ database, definition, workspace: workspaceOf(req.params), path })
    if (current === undefined) throw new Problem('not_found')
    res.json(withVersion(current))
  }
}

const withVersion = ({ version, doc }: LiveDocument): object => ({ ...doc, version })

function workspaceOf({ workspace }: { workspace: string }): number {
  return parsePathId({ keyed: false }, workspace).id ?? 0
}

function definitionOf(resource: string): ResourceDefinition {
  if (!Object.hasOwn(definitions, resource)) throw new Problem('not_found')
  return definitions[resource as ResourceName]
}
