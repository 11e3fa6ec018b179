import { Problem } from '@parley/shared/problem'
import type { PathId } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import {
  type Author,
  type LiveDocument,
  liveDocument,
  type ResourceDocument,
  type StoredDocument,
} from '../store/stored-document.ts'
import { changeDocument, createDocument, KeyTaken } from '../store/write-document.ts'
import type { Dependencies } from './dependencies.ts'

const MAX_ATTEMPTS = 20

/** One document to be stored under an id or a key, whether or not there is one. */
export interface Storing {
  definition: ResourceDefinition
  workspace: number
  author: Author
  path: PathId
  /** Returns the document to store under `id` in the place of `current`; throws the error that the caller gets. */
  build(id: number, current: LiveDocument | undefined): ResourceDocument | Promise<ResourceDocument>
  /** AND-ed to the write over a document that is there. */
  guard: Record<string, unknown>
}

type Needed = Pick<Dependencies, 'database' | 'ids' | 'writes'>

/** Replaces the document, or creates it where there is none. */
export function storeDocument(dependencies: Needed, storing: Storing): Promise<LiveDocument> {
  const { definition, workspace, path } = storing
  const name = `${definition.name}/${workspace}/${path.id ?? path.key}`
  return dependencies.writes.run(name, () =>
    path.id === undefined ? storeUnderKey(dependencies, storing) : replace(dependencies, storing, path.id),
  )
}

async function storeUnderKey(dependencies: Needed, storing: Storing): Promise<LiveDocument> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      const found = await locate({ database: dependencies.database, ...storing })
      if (found === undefined) return await create(dependencies, storing)
      return await replace(dependencies, storing, found.doc._id)
    } catch (error) {
      // Somebody else made this key just now: it names their document.
      if (!(error instanceof KeyTaken)) throw error
    }
  }
  throw new Problem('unavailable', { detail: 'Too many others are writing this key.' })
}

function create({ database, ids }: Needed, storing: Storing): Promise<LiveDocument> {
  const { definition, workspace, author, build } = storing
  return createDocument({ database, ids, definition, workspace, author, build: (id) => build(id, undefined) })
}

function replace({ database }: Needed, storing: Storing, id: number): Promise<LiveDocument> {
  const { definition, workspace, author, build, guard } = storing
  const next = (current: LiveDocument | undefined) => build(id, current)
  return changeDocument({ database, definition, address: { workspace, id }, author, guard, next })
}

interface Located {
  database: Database
  definition: ResourceDefinition
  workspace: number
  path: PathId
}

/** The live document that a path names, if there is one. */
export async function locate(options: Located): Promise<LiveDocument | undefined> {
  return liveDocument(await findStored(options))
}

/** Returns the stored document under a path's name, also one that was deleted. */
export function findStored(options: Located): Promise<StoredDocument | null> {
  const { database, definition, workspace, path } = options
  const named =
    path.key === undefined
      ? { _id: { workspace, id: path.id } }
      : { '_id.workspace': workspace, 'doc.key': path.key }
  return database.documents(definition.name).findOne(named)
}
