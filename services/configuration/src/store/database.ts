import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { Problem } from '@parley/shared/problem'
import type mongoose from 'mongoose'
import { allResources } from '../resources/all-resources.ts'
import type { ResourceDefinition, ResourceName } from '../resources/definition.ts'
import type { HistoryEntry } from './history-entry.ts'
import { indexesOf } from './indexes.ts'
import { createRecentDocuments, type RecentDocuments } from './recent-documents.ts'
import { beginRelays, type StoredRelay } from './relay-state.ts'
import type { StoredDocument } from './stored-document.ts'

export type Documents = mongoose.mongo.Collection<StoredDocument>
export type Counters = mongoose.mongo.Collection<Counter>

/** The last id given out in one workspace and resource. */
export interface Counter {
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
  isUp(): Promise<boolean>
  close(): Promise<void>
}

/** Connects in the background and makes the indexes before anything is served. */
export function openDatabase(options: { url: string; database: string; log: Log }): Database {
  let db: mongoose.mongo.Db | undefined
  const connection = connectMongo({
    ...options,
    prepare: async (opened) => {
      if (opened.db === undefined) throw new Error('not connected')
      await prepareCollections(opened.db)
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
    isUp: connection.isUp,
    close: connection.close,
  }
}

async function prepareCollections(db: mongoose.mongo.Db): Promise<void> {
  const made = await Promise.all(
    allResources.map(async (definition) => {
      const isNew = await enablePreImages(db, definition)
      await db.collection(definition.name).createIndexes(indexesOf(definition))
      return isNew
    }),
  )
  if (made.includes(true)) await beginRelays(db)
}

const EXISTS = 48

/** History needs what a document was before a write. True when the collection was not there yet. */
async function enablePreImages(db: mongoose.mongo.Db, { name }: ResourceDefinition): Promise<boolean> {
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
