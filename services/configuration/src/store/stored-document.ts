import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { escapeKeys, unescapeKeys } from '@parley/shared/safe-keys'
import type mongoose from 'mongoose'
import { type ResourceDefinition, valueAt } from '../resources/definition.ts'

/** Ids count per workspace and resource; two workspaces may have the same. */
export interface Address {
  workspace: number
  id: number
}

/** A document as callers see it. */
export interface ResourceDocument extends JsonObject {
  _id: number
  /** The path id that a config was created under, where that is not its `_id`. */
  key?: string
  createdAt: string
  updatedAt: string
}

/** How a version came about. */
export interface Authorship {
  as: 'created' | 'updated' | 'deleted'
  /** ISO 8601. */
  at: string
  by: Author
}

/** The account that wrote. */
export interface Author {
  _id: number
  username: string
}

/** The author of erasures, which are final: the history contains nothing of the erased values. */
export const ERASURE: Author = { _id: 0, username: 'erasure' }

export const isErasure = ({ by }: Pick<Authorship, 'by'>): boolean =>
  by._id === ERASURE._id && by.username === ERASURE.username

/** The author in history and events for what the runtime itself changes. */
export const RUNTIME: Author = { _id: 0, username: 'runtime' }

/** The author of changes that seal secrets stored in the clear: the history contains nothing of the old values. */
export const SEALING: Author = { _id: 0, username: 'sealing' }

export const isSealing = ({ by }: Pick<Authorship, 'by'>): boolean =>
  by._id === SEALING._id && by.username === SEALING.username

/** A document in the database: its content under `doc`, and what only this service needs. */
export interface StoredDocument {
  _id: Address
  /** Counts every write, on through deletion and re-creation. */
  version: number
  /** A deleted document stays as a mark, so that its id is not used again. */
  deleted: boolean
  /** The version that it was created in, anew where it had been deleted. Missing where an earlier release wrote it last. */
  since?: number
  written: Authorship
  /** Copies of the indexed fields in a form that an index takes. */
  keys?: Record<string, unknown>
  doc?: ResourceDocument
  /** Ids of the messages that were applied to it, latest last; at most {@link MAX_APPLIED}. Kept through deletion. */
  applied?: readonly string[]
  /** The threads that it belonged to and whose erasure its history still awaits, also through deletion. */
  formerThreads?: readonly FormerThread[]
}

/** Stands for every thread, where a document has belonged to more than are told apart. */
export const ANY_THREAD = true

type FormerThread = string | typeof ANY_THREAD

/** A document that is there. */
export interface LiveDocument {
  version: number
  doc: ResourceDocument
}

/** Returns the database's form of `doc`. */
export function toStored(options: {
  definition: ResourceDefinition
  address: Address
  version: number
  since?: number
  written: Authorship
  doc: ResourceDocument | undefined
  applied?: readonly string[] | undefined
  formerThreads?: readonly FormerThread[]
}): StoredDocument {
  const { definition, address, version, since = version, written, doc, formerThreads = [] } = options
  const retained = {
    ...(options.applied && { applied: options.applied }),
    ...(formerThreads.length > 0 && { formerThreads }),
  }
  if (doc === undefined) return { _id: address, version, deleted: true, written, ...retained }
  return {
    _id: address,
    version,
    deleted: false,
    since,
    written,
    keys: indexKeys(definition, doc),
    doc: escapeKeys(doc),
    ...retained,
  }
}

const MAX_APPLIED = 100

/** `applied` with one more message, where there is one. */
export function withApplied(
  applied: StoredDocument['applied'],
  messageId: string | undefined,
): StoredDocument['applied'] {
  return messageId === undefined ? applied : [...(applied ?? []), messageId].slice(-MAX_APPLIED)
}

/** Each write of the document writes them all. */
const MAX_FORMER_THREADS = 100

/** The threads that a document belonged to before it became `doc`; none once it is erased, for its history is empty then. */
export function formerThreadsOf(
  { thread }: ResourceDefinition,
  change: {
    stored: StoredDocument | null
    doc: ResourceDocument | undefined
    erasing?: string | undefined
  },
): FormerThread[] {
  const { stored, doc, erasing } = change
  if (thread === undefined || erasing !== undefined) return []
  const [from, to] = [liveDocument(stored)?.doc, doc].map((each) => ({
    extId: valueAt(each, thread),
    channel: each?.channel,
  }))
  // A channel that takes what none has used goes on with its thread.
  const isTaken = from?.channel === undefined && from?.extId === to?.extId
  const before = from && formerThread(from)
  const threads = new Set(stored?.formerThreads)
  if (before !== undefined && !isTaken && before !== (to && formerThread(to))) threads.add(before)
  return threads.has(ANY_THREAD) || threads.size > MAX_FORMER_THREADS ? [ANY_THREAD] : [...threads]
}

/** Returns the name of a thread among former ones, separate for each channel; undefined for none. */
export function formerThread({ extId, channel }: { extId: unknown; channel: unknown }): string | undefined {
  if (typeof extId !== 'string') return undefined
  return typeof channel === 'string' ? `${channel}\0${extId}` : extId
}

/** The live document in `stored`; undefined when there is none or it is deleted. */
export function liveDocument(stored: StoredDocument | null | undefined): LiveDocument | undefined {
  if (!stored || stored.deleted || stored.doc === undefined) return undefined
  return { version: stored.version, doc: unescapeKeys(stored.doc) }
}

/** The version from which on a live document is the same one, as far as that is known. */
export const sinceOf = ({ since, version }: Pick<StoredDocument, 'since' | 'version'>): number =>
  since ?? version

const INDEXED_CHARACTERS = 128

/** Texts are indexed by their first 128 characters, so that indexes and cursors stay small. */
export const indexedText = (value: string): string => value.slice(0, INDEXED_CHARACTERS).toWellFormed()

/** True if the index has only the beginning of a text. */
export const isCutInIndex = (value: unknown): boolean =>
  typeof value === 'string' && value.length > INDEXED_CHARACTERS

/** The path of an indexed field in the stored document. */
export const keyPath = (field: string): string =>
  field === '_id' ? '_id.id' : `keys.${field.replaceAll('.', '_')}`

function indexKeys(definition: ResourceDefinition, doc: ResourceDocument): Record<string, unknown> {
  const keys: Record<string, unknown> = { updatedAt: doc.updatedAt }
  for (const field of Object.keys(definition.indexed)) {
    const value = valueAt(doc, field) ?? null
    keys[field.replaceAll('.', '_')] = typeof value === 'string' ? indexedText(value) : value
  }
  return keys
}

/** Whom the history names for what a caller writes. */
export const authorOf = ({ account }: Caller): Author => ({ _id: account._id, username: account.username })

/** Fields in index order, all ascending. */
type IndexKey = Record<string, 1>

/** The filter that leaves out deleted documents. */
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

/** Finds the documents that belonged to a thread. */
const FORMER_THREADS = {
  key: { '_id.workspace': 1, formerThreads: 1 },
  partialFilterExpression: { formerThreads: { $exists: true } },
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
  if (definition.thread !== undefined) indexes.push(FORMER_THREADS)
  if (!definition.keyed) return indexes
  const key = { '_id.workspace': 1, 'doc.key': 1 } as const
  return [...indexes, { key, unique: true, partialFilterExpression: { 'doc.key': { $exists: true } } }]
}
