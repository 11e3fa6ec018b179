import type mongoose from 'mongoose'
import type { ResourceDefinition } from '../resources/definition.ts'
import { keyPath } from './stored-document.ts'

/** Fields in index order, all ascending. */
export type IndexKey = Record<string, 1>

/** What deleted documents are left out of. */
export const LIVE = { deleted: false } as const

/**
 * The index that serves a list of one workspace: equality on `filter`, then in the order of `sort`, then by
 * id. It doubles as the hint.
 */
export function listIndex(options: { filter?: string | undefined; sort: string }): IndexKey {
  const fields = [...(options.filter ? [options.filter] : []), options.sort, '_id']
  return Object.fromEntries(['_id.workspace', ...fields.map(keyPath)].map((path) => [path, 1] as const))
}

/** The index that finds the documents with these values in `fields`, lowest id first. It doubles as the hint. */
export function lookupIndex(fields: readonly string[]): IndexKey {
  return Object.fromEntries(
    ['_id.workspace', ...[...fields, '_id'].map(keyPath)].map((path) => [path, 1] as const),
  )
}

/** Tells whether a message was applied, and lets no second document apply it. */
const APPLIED = {
  key: { '_id.workspace': 1, applied: 1 },
  unique: true,
  partialFilterExpression: { applied: { $exists: true } },
} as const

/** Every index of one resource's collection. */
export function indexesOf(definition: ResourceDefinition): mongoose.mongo.IndexDescription[] {
  const fields = Object.keys(definition.indexed)
  const lists = [
    listIndex({ sort: '_id' }),
    listIndex({ sort: 'updatedAt' }),
    ...fields.map((filter) => listIndex({ filter, sort: '_id' })),
    ...fields.map((filter) => listIndex({ filter, sort: 'updatedAt' })),
    ...(definition.lookups ?? []).map(lookupIndex),
  ]
  const indexes: mongoose.mongo.IndexDescription[] = lists.map((key) => ({
    key,
    partialFilterExpression: LIVE,
  }))
  if (definition.appliesMessages) indexes.push(APPLIED)
  if (!definition.keyed) return indexes
  const key = { '_id.workspace': 1, 'doc.key': 1 } as const
  return [...indexes, { key, unique: true, partialFilterExpression: { 'doc.key': { $exists: true } } }]
}
