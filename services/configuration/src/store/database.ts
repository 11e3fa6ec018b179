import type { ResourceName } from '@parley/shared/configuration-resources'
import type { FieldChange } from '@parley/shared/field-changes'
import type { Log } from '@parley/shared/log'
import type { Memory } from '@parley/shared/memory'
import { connectMongo } from '@parley/shared/mongo'
import { ensureIndexes, prepareCollections } from '@parley/shared/prepare-collections'
import { Problem } from '@parley/shared/problem'
import { beginRelays, type StoredRelay } from '@parley/shared/relay/relay-state'
import { LRUCache } from 'lru-cache'
import mongoose from 'mongoose'
import { allResources } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { beginSealing, type StoredSealing } from './sealing-state.ts'
import { type Address, type Authorship, indexesOf, type StoredDocument } from './stored-document.ts'

const { calculateObjectSize } = mongoose.mongo.BSON
const SEALING = 'sealing'
const MAX_DOCUMENTS = 10_000
const MAX_BYTES = 32 * 1024 * 1024
const MAX_DOCUMENT_BYTES = 256 * 1024

type Documents = mongoose.mongo.Collection<StoredDocument>
export type Counters = mongoose.mongo.Collection<Counter>

/** The last id given out in one workspace and resource. */
interface Counter {
  _id: { workspace: number; resource: ResourceName }
  value: number
}

/** The service's collections; each throws `unavailable` until the database has been reached. */
export interface Database {
  /** Resolves when the database has been reached and made ready; never rejects. */
  ready: Promise<void>
  connected(): mongoose.mongo.Db
  documents(resource: ResourceName): Documents
  recent: RecentDocuments
  counters(): Counters
  history(): mongoose.mongo.Collection<HistoryEntry>
  relays(): mongoose.mongo.Collection<StoredRelay>
  sealing(): mongoose.mongo.Collection<StoredSealing>
  isUp(): Promise<boolean>
  close(): Promise<void>
}

/** Connects in the background and makes the indexes before anything is served. */
export function openDatabase(options: {
  url: string
  database: string
  memory?: Memory
  log: Log
}): Database {
  let db: mongoose.mongo.Db | undefined
  const connection = connectMongo({
    ...options,
    prepare: async (opened) => {
      if (opened.db === undefined) throw new Error('not connected')
      await prepareDatabase(opened.db)
      db = opened.db
    },
  })
  const connected = (): mongoose.mongo.Db => {
    if (db === undefined) throw new Problem('unavailable', { detail: 'The database is not reached yet.' })
    return db
  }
  return {
    ready: connection.ready,
    connected,
    documents: (resource) => connected().collection<StoredDocument>(resource),
    recent: createRecentDocuments(),
    counters: () => connected().collection<Counter>('counters'),
    history: () => connected().collection<HistoryEntry>('history'),
    relays: () => connected().collection<StoredRelay>('relays'),
    sealing: () => connected().collection<StoredSealing>(SEALING),
    isUp: connection.isUp,
    close: connection.close,
  }
}

async function prepareDatabase(db: mongoose.mongo.Db): Promise<void> {
  const present = new Map(
    (await db.listCollections({}, { nameOnly: false }).toArray()).map((one) => [one.name, one]),
  )
  const made = await Promise.all(
    allResources.map(async (definition) => {
      const isNew = await enablePreImages(db, definition, present.get(definition.name)?.options)
      await ensureIndexes({ db }, db.collection(definition.name), indexesOf(definition))
      return isNew
    }),
  )
  await prepareCollections({ db }, { counters: [], history: [], relays: [], [SEALING]: [] })
  if (made.includes(true)) await beginRelays(db, db.collection('relays'), RELAYS)
  if (present.size === 0) await beginSealing(db.collection(SEALING))
}

const RELAYS = ['history', 'events'] as const
/** Each follows the same writes at its own speed. */
export type RelayName = (typeof RELAYS)[number]

const EXISTS = 48

/** History needs what a document was before a write. True when the collection was not there yet. */
async function enablePreImages(
  db: mongoose.mongo.Db,
  { name }: ResourceDefinition,
  present: { changeStreamPreAndPostImages?: { enabled: boolean } } | undefined,
): Promise<boolean> {
  if (present?.changeStreamPreAndPostImages?.enabled) return false
  const changeStreamPreAndPostImages = { enabled: true }
  try {
    await db.createCollection(name, { changeStreamPreAndPostImages })
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code !== EXISTS) throw error
    await db.command({ collMod: name, changeStreamPreAndPostImages })
    return false
  }
}

/** One version of one document: who made it, when, and what changed. */
export interface HistoryEntry extends Authorship {
  _id: { workspace: number; resource: ResourceName; id: number; version: number }
  /** Null where it isn't known; a change without its values where they are too large to be stored. */
  changes: FieldChange[] | null
}

/**
 * What this process wrote last, so that the next write of it needs no read. It may be out of date: only a write
 * that is conditional on its version may rest on it.
 */
interface RecentDocuments {
  get(resource: ResourceName, address: Address): StoredDocument | undefined
  set(resource: ResourceName, stored: StoredDocument): void
  forget(resource: ResourceName, address: Address): void
}

/** Holds at most 10,000 documents and 32 MiB, none over 256 KiB. */
function createRecentDocuments(): RecentDocuments {
  const documents = new LRUCache<string, StoredDocument>({
    max: MAX_DOCUMENTS,
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_DOCUMENT_BYTES,
    sizeCalculation: (stored) => calculateObjectSize(stored),
  })
  const nameOf = (resource: ResourceName, { workspace, id }: Address) => `${resource}/${workspace}/${id}`
  return {
    get: (resource, address) => documents.get(nameOf(resource, address)),
    set: (resource, stored) => void documents.set(nameOf(resource, stored._id), stored),
    forget: (resource, address) => void documents.delete(nameOf(resource, address)),
  }
}
