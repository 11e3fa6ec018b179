import { allResources } from '../resources/all-resources.ts'
import type { Database } from '../store/database.ts'
import type { DocumentChange } from './change-stream.ts'

const BATCH = 100

/** Every document there is as its last change, deleted ones included, at most 100 at a time. */
export async function* snapshot(database: Pick<Database, 'documents'>): AsyncGenerator<DocumentChange[]> {
  for (const { name: resource } of allResources) {
    let changes: DocumentChange[] = []
    for await (const stored of database.documents(resource).find().batchSize(BATCH)) {
      changes.push({ resource, stored })
      if (changes.length === BATCH) {
        yield changes
        changes = []
      }
    }
    if (changes.length > 0) yield changes
  }
}
