import { type HistoryEntryView, historyPage } from '@parley/shared/field-changes'
import { idCursor } from '@parley/shared/list-query'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { callerOf } from '@parley/shared/service-app'
import type { Connection, mongo } from 'mongoose'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { type HistoricResource, type HistoryRecord, historyOf, inTransactionOn } from './write-history.ts'

const PAGE = 50

interface Historic {
  resource: HistoricResource
  /** Names the operation: `read<title>History`. */
  title: string
  /** In words, as `a segment`. */
  one: string
  tag: string
  parameter: OperationParameter
  example: HistoryEntryView
  /** Throws `invalid_id`. */
  idOf(params: { id: string }): string
  /** The document as rules of roles see it; undefined where there is none any more. */
  find(
    connection: Connection,
    asked: { workspace: number; id: string; session: mongo.ClientSession },
  ): Promise<object | undefined>
}

/**
 * What happened to a document, the latest first, 50 at a time. Who may read all of the resource sees that of a deleted one as
 * well; others what happened since the document that they may read was created.
 */
export function historyRoute(historic: Historic): Route<Dependencies> {
  const { resource, title, one, tag, parameter, example, idOf, find } = historic
  return route({
    method: 'GET',
    path: `/rest/${resource}/{id}/history` as '/rest/segments/{id}/history',
    access: 'read',
    id: `read${title}History`,
    tag,
    summary: `Read what happened to ${one}`,
    parameters: [parameter],
    query: z.object({ after: idCursor.optional() }),
    response: { schema: historyPage, example: { data: [example], next: null } },
    errors: ['invalid_id', 'not_found'],
    handle:
      ({ connection, authorizer }: Dependencies) =>
      async (req, res, asked) => {
        const id = idOf(req.params)
        const { after = Number.MAX_SAFE_INTEGER } = asked.query()
        const caller = callerOf(res)
        const workspace = caller.workspace._id
        const read = await authorizer.require(caller, resource, 'read')
        // Read at one moment: whoever is judged on a document sees nothing of one that takes its place meanwhile.
        const { document, found } = await inTransactionOn(connection, async (session) => {
          const of = { workspace, resource, id }
          const document = await find(connection, { workspace, id, session })
          const from = read.kind === 'all' ? 0 : await sinceCreated(connection, of, session)
          const found = await historyOf(connection)
            .find({ ...of, version: { $gte: from, $lt: after } }, { session })
            .sort({ version: -1 })
            .limit(PAGE + 1)
            .toArray()
          return { document, found }
        })
        const isReadable = read.kind === 'all' || (document !== undefined && allows(read, document))
        if (!isReadable || (document === undefined && found.length === 0)) throw new Problem('not_found')
        const page = found.slice(0, PAGE)
        const last = found.length > PAGE ? page.at(-1) : undefined
        const next = last === undefined ? null : String(last.version)
        res.set('cache-control', 'private, no-cache').json({ data: page.map(shown), next })
      },
  })
}

/** The version in which the document that is there now was created. */
async function sinceCreated(
  connection: Connection,
  of: Pick<HistoryRecord, 'workspace' | 'resource' | 'id'>,
  session: mongo.ClientSession,
): Promise<number> {
  const options = { session, sort: { version: -1 }, projection: { version: 1 } } as const
  const created = await historyOf(connection).findOne({ ...of, operation: 'created' }, options)
  return created?.version ?? 0
}

const shown = ({ version, operation, at, by, changes }: HistoryRecord) => ({
  ...{ version, operation, at, by },
  changes: changes.map((change) => unescapeKeys(change)),
})
