import { setImmediate as letOthersRun } from 'node:timers/promises'
import { escapeKeys, unescapeKeys } from '@parley/shared/safe-keys'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import { LRUCache } from 'lru-cache'
import { sealChanges, wasCredentials } from '../history/write-history.ts'
import { allResources } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database, HistoryEntry } from '../store/database.ts'
import {
  LIVE,
  type LiveDocument,
  liveDocument,
  SEALING,
  type StoredDocument,
} from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'

const BATCH = 100
const MAX_NAMES = 1_000

/** How many there were with a secret in the clear, which is sealed now. */
export interface Sealed {
  documents: number
  history: number
}

/** Runs before each batch; rejects to break off, and what is sealed by then stays so. */
type Goon = () => Promise<void>

/**
 * Seals the secrets that are stored in the clear, in documents and in their history, of what was written at `since` or
 * later (ISO 8601; everything when left out). Each is one write on the condition that nobody else wrote it. It can
 * be broken off and begun again.
 */
export async function sealStored(options: {
  database: Database
  secrets: SecretBox
  since: string | undefined
  goOn: Goon
}): Promise<Sealed> {
  const { database, goOn } = options
  const sealed: Sealed = { documents: 0, history: 0 }
  for (const definition of allResources)
    for await (const stored of writtenSince(options, definition)) {
      if (await isSealedNow(options, { definition, stored })) sealed.documents++
      await letOthersRun()
    }
  const names = new LRUCache<string, boolean>({ max: MAX_NAMES })
  const entries = database
    .history()
    .find(options.since === undefined ? {} : { at: { $gte: options.since } })
    .batchSize(BATCH)
  for await (const [at, entry] of numbered(entries)) {
    if (at % BATCH === 0) await goOn()
    if (await isEntrySealedNow(options, { entry, names })) sealed.history++
    await letOthersRun()
  }
  return sealed
}

async function* writtenSince(
  { database, since, goOn }: { database: Database; since: string | undefined; goOn: Goon },
  { name }: ResourceDefinition,
): AsyncGenerator<StoredDocument> {
  const written = since === undefined ? {} : { 'written.at': { $gte: since } }
  const found = database
    .documents(name)
    .find({ ...LIVE, ...written })
    .batchSize(BATCH)
  for await (const [at, stored] of numbered(found)) {
    if (at % BATCH === 0) await goOn()
    yield stored
  }
}

async function* numbered<T>(items: AsyncIterable<T>): AsyncGenerator<readonly [number, T]> {
  let at = 0
  for await (const item of items) yield [at++, item]
}

class NothingToSeal extends Error {}

/** Seals a document. Returns true if it had a secret in the clear. Its last writer, and the time, are in its history. */
async function isSealedNow(
  { database, secrets }: { database: Database; secrets: SecretBox },
  { definition, stored }: { definition: ResourceDefinition; stored: StoredDocument },
): Promise<boolean> {
  const { _id: address } = stored
  const seal = ({ doc }: LiveDocument) => sealSecrets(doc, secrets, address.workspace)
  const known = liveDocument(stored)
  if (known === undefined || seal(known) === known.doc) return false
  const next = (current: LiveDocument | undefined) => {
    const sealed = current && seal(current)
    if (sealed === undefined || sealed === current?.doc) throw new NothingToSeal()
    return sealed
  }
  try {
    await changeDocument({ database, definition, address, author: SEALING, guard: {}, next })
    return true
  } catch (error) {
    if (error instanceof NothingToSeal) return false
    throw error
  }
}

async function isEntrySealedNow(
  { database, secrets }: { database: Database; secrets: SecretBox },
  { entry, names }: { entry: HistoryEntry; names: LRUCache<string, boolean> },
): Promise<boolean> {
  const { _id, changes } = entry
  if (changes === null || changes.length === 0) return false
  const { workspace, resource, id } = _id
  const name = `${resource}/${workspace}/${id}`
  const isCredentials = names.get(name) ?? (await isOnceCredentials(database, _id))
  names.set(name, isCredentials)
  const plain = unescapeKeys(changes)
  const sealed = sealChanges(plain, { secrets, workspace, isCredentials })
  if (sealed === plain) return false
  // Not where somebody erased something of it meanwhile.
  const { matchedCount } = await database
    .history()
    .updateOne({ _id, changes }, { $set: { changes: sealed.map((change) => escapeKeys(change)) } })
  return matchedCount === 1
}

async function isOnceCredentials(database: Database, { workspace, resource, id }: HistoryEntry['_id']) {
  if (resource !== 'configs') return false
  const stored = await database.documents(resource).findOne({ _id: { workspace, id } })
  return wasCredentials(database, { workspace, resource, id }, liveDocument(stored)?.doc.name)
}
