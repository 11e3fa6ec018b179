import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { Problem } from '@parley/shared/problem'
import type mongoose from 'mongoose'
import { allResources } from '../resources/all-resources.ts'
import type { ResourceName } from '../resources/definition.ts'
import { indexesOf } from './indexes.ts'
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
  documents(resource: ResourceName): Documents
  counters(): Counters
  isUp(): Promise<boolean>
  close(): Promise<void>
}

/** Connects in the background and makes the indexes before anything is served. */
export function openDatabase(options: { url: string; database: string; log: Log }): Database {
  let db: mongoose.mongo.Db | undefined
  const connection = connectMongo({
    ...options,
    prepare: async (connected) => {
      await Promise.all(
        allResources.map((definition) =>
          connected.db?.collection(definition.name).createIndexes(indexesOf(definition)),
        ),
      )
      db = connected.db
    },
  })
  const ready = (): mongoose.mongo.Db => {
    if (db === undefined) throw new Problem('unavailable', { detail: 'The database is not reached yet.' })
    return db
  }
  return {
    documents: (resource) => ready().collection<StoredDocument>(resource),
    counters: () => ready().collection<Counter>('counters'),
    isUp: connection.isUp,
    close: connection.close,
  }
}
