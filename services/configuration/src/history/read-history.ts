import { idCursor, readQuery } from '@parley/shared/list-query'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { callerOf } from '@parley/shared/service-app'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { allows, requireReadable } from '../access/access.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { locate } from '../documents/locate.ts'
import { type PathId, parsePathId } from '../requests/path-id.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { presentAll } from '../secrets/present-all.ts'
import { type Reveal, revealAt } from '../secrets/reveal.ts'
import { collectPage } from '../store/collect-page.ts'
import type { Database } from '../store/database.ts'
import type { FieldChange, HistoryEntry } from '../store/history-entry.ts'

const PAGE = 50
const historyQuery = z.object({ after: idCursor.optional() })

/**
 * `GET /rest/{resource}/{id}/history`: what happened to a document, latest first, 50 (or 8 MiB) at a time. That of a
 * deleted one is for those who may read all of the resource.
 */
export function readHistory(
  { database, authorizer, secrets }: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    const { after = Number.MAX_SAFE_INTEGER } = readQuery(historyQuery, req)
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const read = await authorizer.require(caller, definition.name, 'read')
    const write = await authorizer.decide(caller, definition.name, 'write')
    const current = await locate({ database, definition, workspace, path })
    if (current !== undefined || read.kind !== 'all') requireReadable(read, current)
    const id = current?.doc._id ?? idOf(path)
    const cursor = findEntries(database, { workspace, resource: definition.name, id }, after)
    const { found, more } = await collectPage(cursor, PAGE)
    if (found.length === 0 && current === undefined) throw new Problem('not_found')
    const writable = current ? allows(write, current.doc) : write.kind === 'all'
    const last = more ? found.at(-1) : undefined
    // Values in it lie outside the documents whose keys make them secret.
    res.set('cache-control', writable ? 'no-store' : 'private, no-cache').json({
      data: await presentAll(found, (entry) => present(entry, { secrets, workspace, writable })),
      next: last === undefined ? null : String(last._id.version),
    })
  }
}

type DocumentId = Omit<HistoryEntry['_id'], 'version'>

function findEntries(database: Database, document: DocumentId, before: number) {
  const { workspace, id, resource } = document
  const at = (version: number) => ({ workspace, id, resource, version })
  return database
    .history()
    .find({ _id: { $gt: at(0), $lt: at(before) } })
    .sort({ _id: -1 })
    .limit(PAGE + 1)
}

function present({ _id, as, at, by, changes }: HistoryEntry, options: Reveal): object {
  const shown = changes && unescapeKeys(changes).map((change) => revealChange(change, options))
  return { version: _id.version, operation: as, at, by, changes: shown }
}

function revealChange({ path, before, after }: FieldChange, options: Reveal): FieldChange {
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
