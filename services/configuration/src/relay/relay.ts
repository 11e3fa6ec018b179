import { CONFIGURATION_RESOURCES, type ResourceName } from '@parley/shared/configuration-resources'
import type { Log } from '@parley/shared/log'
import { type Relay, startRelay } from '@parley/shared/relay/relay'
import mongoose from 'mongoose'
import { allResources } from '../resources/all-resources.ts'
import type { Database, RelayName } from '../store/database.ts'
import type { StoredDocument } from '../store/stored-document.ts'

const { calculateObjectSize } = mongoose.mongo.BSON
const BATCH = 100
/** All of a batch is in memory, and on its way to the broker, at once. */
const BATCH_BYTES = 8 * 1024 * 1024

/** One write to one document: what it is now, and what it was before where that is known. */
export interface DocumentWrite {
  resource: ResourceName
  stored: StoredDocument
  before?: StoredDocument | undefined
  /** When it was written; not known of what comes once again after a gap. */
  at?: Date | undefined
}

const WRITTEN = [
  {
    $match: {
      'ns.coll': { $in: [...CONFIGURATION_RESOURCES] },
      operationType: { $in: ['insert', 'replace'] },
    },
  },
]

/** Follows every write to a resource's document; after a gap every document comes once, deleted ones included. */
export function startDocumentRelay(options: {
  name: RelayName
  database: Database
  log: Log
  handle(changes: DocumentWrite[]): Promise<void>
}): Relay {
  const { database, ...others } = options
  return startRelay<DocumentWrite>({
    ...others,
    ready: database.ready,
    db: database.connected,
    relays: database.relays,
    stages: WRITTEN,
    withBefore: true,
    changeOf: ({ ns, fullDocument, fullDocumentBeforeChange, wallTime }) => ({
      resource: ns.coll,
      stored: fullDocument,
      before: fullDocumentBeforeChange ?? undefined,
      at: wallTime,
    }),
    snapshot: () => snapshot(database),
  })
}

async function* snapshot(database: Pick<Database, 'documents'>): AsyncGenerator<DocumentWrite[]> {
  for (const { name: resource } of allResources) {
    let changes: DocumentWrite[] = []
    let bytes = 0
    for await (const stored of database.documents(resource).find().batchSize(BATCH)) {
      changes.push({ resource, stored })
      bytes += calculateObjectSize(stored)
      if (changes.length === BATCH || bytes >= BATCH_BYTES) {
        yield changes
        changes = []
        bytes = 0
      }
    }
    if (changes.length > 0) yield changes
  }
}
