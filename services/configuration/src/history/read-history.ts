import { collectPage } from '@parley/shared/collect-page'
import { type FieldChange, type HistoryEntryView, historyPage } from '@parley/shared/field-changes'
import { idCursor } from '@parley/shared/list-query'
import { mapYielding } from '@parley/shared/map-yielding'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { requireReadable } from '../access/access.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { findStored } from '../documents/store-document.ts'
import { type PathId, parsePathId } from '../requests/list-query.ts'
import { idParameter } from '../requests/parameters.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { EXAMPLE_TIME, resourceDescription } from '../resources/resource-schemas.ts'
import { revealAt } from '../secrets/presenter.ts'
import type { Database, HistoryEntry } from '../store/database.ts'
import { liveDocument, type StoredDocument, sinceOf } from '../store/stored-document.ts'
import { wasCredentials } from './write-history.ts'

const PAGE = 50

/**
 * `GET /rest/{resource}/{id}/history`: what happened to a document, latest first, 50 (or 8 MiB) at a time. Who may read
 * all of the resource sees that of a deleted one as well; others what happened since the document that they may read was
 * created. The secrets of earlier versions are for those who may write all of it.
 */
export function readHistory(definition: ResourceDefinition): Route<Dependencies> {
  const { title, example } = definition
  const { history, one, firstField } = resourceDescription(definition)
  const created: HistoryEntryView = {
    version: 1,
    operation: 'created',
    at: EXAMPLE_TIME,
    by: { _id: 1, username: 'ana@example.com' },
    changes: [{ path: `/${firstField}`, after: example[firstField] }],
  }
  return route({
    ...history,
    method: 'GET',
    access: 'read',
    id: `read${title}History`,
    summary: `Read what happened to ${one}`,
    parameters: [idParameter(definition)],
    query: z.object({ after: idCursor.optional() }),
    response: { schema: historyPage, example: { data: [created], next: null } },
    errors: ['invalid_id', 'not_found'],
    handle:
      ({ database, authorizer, secrets }: Dependencies) =>
      async (req, res, asked) => {
        const path = parsePathId(definition, req.params.id)
        const { after = Number.MAX_SAFE_INTEGER } = asked.query()
        const caller = callerOf(res)
        const workspace = caller.workspace._id
        const read = await authorizer.require(caller, definition.name, 'read')
        const write = await authorizer.decide(caller, definition.name, 'write')
        const stored = await findStored({ database, definition, workspace, path })
        const current = liveDocument(stored)
        if (current !== undefined || read.kind !== 'all') requireReadable(read, current)
        const id = current?.doc._id ?? idOf(path)
        const versions = read.kind === 'all' || stored === null ? EVERY : versionsJudged(stored)
        const { found, more } = await collectPage(
          findEntries(
            database,
            { workspace, resource: definition.name, id },
            { ...versions, before: Math.min(after, versions.before) },
          ),
          PAGE,
        )
        if (found.length === 0 && current === undefined) throw new Problem('not_found')
        const writable = write.kind === 'all'
        const named = { workspace, resource: definition.name, id }
        const isCredentials = !writable && (await wasCredentials(database, named, current?.doc.name))
        const last = more ? found.at(-1) : undefined
        // Values in it lie outside the documents whose keys make them secret.
        res.set('cache-control', writable ? 'no-store' : 'private, no-cache').json({
          data: await mapYielding(found, (entry) =>
            present(entry, { secrets, workspace, writable, isCredentials }),
          ),
          next: last === undefined ? null : String(last._id.version),
        })
      },
  })
}

type Revealing = Parameters<typeof revealAt>[2]

type DocumentId = Omit<HistoryEntry['_id'], 'version'>

interface Versions {
  from: number
  before: number
}

const EVERY: Versions = { from: 1, before: Number.MAX_SAFE_INTEGER }

/** Those of the document that its reader was judged on: not of one that was deleted before, or is created meanwhile. */
const versionsJudged = (stored: StoredDocument): Versions => ({
  from: sinceOf(stored),
  before: stored.version + 1,
})

function findEntries(database: Database, document: DocumentId, { from, before }: Versions) {
  const { workspace, id, resource } = document
  const at = (version: number) => ({ workspace, id, resource, version })
  return database
    .history()
    .find({ _id: { $gte: at(from), $lt: at(before) } })
    .sort({ _id: -1 })
    .limit(PAGE + 1)
}

function present({ _id, as, at, by, changes }: HistoryEntry, options: Revealing): object {
  const shown = changes && unescapeKeys(changes).map((change) => revealChange(change, options))
  return { version: _id.version, operation: as, at, by, changes: shown }
}

function revealChange({ path, before, after }: FieldChange, options: Revealing): FieldChange {
  return {
    path,
    ...(before === undefined ? {} : { before: revealAt(path, before, options) }),
    ...(after === undefined ? {} : { after: revealAt(path, after, options) }),
  }
}

/** A key names a document only while it is there. */
function idOf(path: PathId): number {
  if (path.id === undefined) throw new Problem('not_found')
  return path.id
}
