import type { PathId } from '../requests/path-id.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { type LiveDocument, liveDocument } from '../store/stored-document.ts'

/** The live document that a path names, if there is one. */
export async function locate(options: {
  database: Database
  definition: ResourceDefinition
  workspace: number
  path: PathId
}): Promise<LiveDocument | undefined> {
  const { database, definition, workspace, path } = options
  const named =
    path.key === undefined
      ? { _id: { workspace, id: path.id } }
      : { '_id.workspace': workspace, 'doc.key': path.key }
  return liveDocument(await database.documents(definition.name).findOne(named))
}
