import { collectPage } from '@parley/shared/collect-page'
import type { Sort } from '@parley/shared/list-query'
import { Problem } from '@parley/shared/problem'
import mongoose from 'mongoose'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database } from './database.ts'
import {
  indexedText,
  isCutInIndex,
  keyPath,
  LIVE,
  type LiveDocument,
  listIndex,
  liveDocument,
  type StoredDocument,
} from './stored-document.ts'

const { MaxKey, MinKey } = mongoose.mongo.BSON
const MAX_MS = 5_000
const TIMED_OUT = 50

/** Where a page ended: the sort field's indexed value, and the id, of its last document. */
export interface Position {
  value: string | number | null
  id: number
}

export interface PageQuery {
  workspace: number
  /** Equality on indexed fields; the first one is served by the index, the rest narrow further. */
  filters: readonly [field: string, value: string | number][]
  sort: Sort
  after?: Position | undefined
  limit: number
  /** AND-ed to the query: what the caller may see. */
  visible: Record<string, unknown>
  /** True if the read sees every earlier write, also one by another primary; it waits for a majority. */
  isLinearizable?: boolean
}

interface Page {
  documents: LiveDocument[]
  /** Where the next page starts; undefined on the last one. */
  end?: Position
}

/**
 * One page by keyset: the index is entered right where the last page ended, so that every page costs the
 * same. A page ends early at 8 MiB.
 */
export async function findPage(
  database: Database,
  definition: ResourceDefinition,
  query: PageQuery,
): Promise<Page> {
  try {
    const { found, more } = await collectPage(pageCursor(database, definition, query), query.limit)
    const last = found.at(-1)
    const documents = found.flatMap((stored) => liveDocument(stored) ?? [])
    return more && last ? { documents, end: positionOf(last, query.sort.field) } : { documents }
  } catch (error) {
    throw (error as { code?: unknown }).code === TIMED_OUT ? tooSlow(error) : error
  }
}

function tooSlow(cause: unknown): Problem {
  return new Problem('unavailable', { detail: 'The list took too long; narrow it by a filter.', cause })
}

/** The cursor that a page is read from: its documents and one more. */
export function pageCursor(
  database: Pick<Database, 'documents'>,
  definition: ResourceDefinition,
  query: PageQuery,
) {
  const { workspace, filters, visible, sort, after, limit, isLinearizable = false } = query
  const documents = database.documents(definition.name)
  const id = filters.find(([field]) => field === '_id')?.[1]
  const conditions = filters.flatMap(([field, value]) => equality(field, value))
  const matching = { $and: [{ '_id.workspace': workspace, ...LIVE }, ...conditions, visible] }
  if (id !== undefined) return documents.find({ $and: [{ _id: { workspace, id: Number(id) } }, matching] })
  const index = indexFor(query)
  const edge = (fill: unknown, position?: Position) =>
    Object.fromEntries(
      Object.keys(index).map((path) => {
        if (path === '_id.workspace') return [path, workspace]
        if (filters[0] && path === keyPath(filters[0][0])) return [path, indexValue(filters[0][1])]
        if (position === undefined) return [path, fill]
        return [path, path === keyPath('_id') ? position.id : position.value]
      }),
    )
  // The lower edge is inclusive, the upper one is not.
  const lower =
    after && !sort.descending ? edge(undefined, { ...after, id: after.id + 1 }) : edge(new MinKey())
  const upper = after && sort.descending ? edge(undefined, after) : edge(new MaxKey())
  return documents
    .find(matching, isLinearizable ? { readConcern: 'linearizable' } : {})
    .hint(index)
    .min(lower)
    .max(upper)
    .sort(Object.fromEntries(Object.keys(index).map((path) => [path, sort.descending ? -1 : 1])))
    .limit(limit + 1)
    .maxTimeMS(MAX_MS)
}

function indexFor({ filters, sort }: PageQuery) {
  const filter = filters[0]?.[0]
  if (filter === undefined && sort.field !== '_id' && sort.field !== 'updatedAt') {
    return listIndex({ filter: sort.field, sort: '_id' })
  }
  return listIndex({ filter, sort: sort.field === filter ? '_id' : sort.field })
}

const indexValue = (value: string | number) => (typeof value === 'string' ? indexedText(value) : value)

function equality(field: string, value: string | number): object[] {
  const indexed = { [keyPath(field)]: { $eq: indexValue(value) } }
  return isCutInIndex(value) ? [indexed, { [`doc.${field}`]: { $eq: value } }] : [indexed]
}

/** Where a page that `stored` is the last document of has ended. */
function positionOf(stored: StoredDocument, field: string): Position {
  const { id } = stored._id
  if (field === '_id') return { value: null, id }
  const value = stored.keys?.[field.replaceAll('.', '_')]
  return { value: typeof value === 'string' || typeof value === 'number' ? value : null, id }
}
