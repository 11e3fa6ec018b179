import type { ResourceName } from '@parley/shared/configuration-resources'
import { Problem } from '@parley/shared/problem'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database } from './database.ts'
import type { IdCounter } from './id-counter.ts'
import {
  type Address,
  type Author,
  type Authorship,
  formerThreadsOf,
  LIVE,
  type LiveDocument,
  liveDocument,
  type ResourceDocument,
  type StoredDocument,
  sinceOf,
  toStored,
  withApplied,
} from './stored-document.ts'

const MAX_ATTEMPTS = 200
const OUT_OF_RANGE = 'ERR_OUT_OF_RANGE'
const TOO_LARGE_CODES = [10_334, 17_419, 17_420]
const DUPLICATE_KEY = 11_000

/** Another document took the key between the look-up and the write. */
export class KeyTaken extends Error {}

/** The message that was to be applied has been. */
export class AlreadyApplied extends Error {}

/** Stores a new document under the next free id; counts on over ids that are taken or were deleted. */
export async function createDocument(options: {
  database: Database
  ids: IdCounter
  definition: ResourceDefinition
  workspace: number
  author: Author
  build(id: number): ResourceDocument | Promise<ResourceDocument>
  /** The id of the message that is applied by it; {@link KeyTaken} when another document has applied it. */
  applying?: string
}): Promise<LiveDocument> {
  const { database, ids, definition, workspace, author, applying } = options
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    await requireRoom(database, definition, workspace)
    const id = await ids.next(workspace, definition.name)
    const doc = await options.build(id)
    const stored = toStored({
      definition,
      address: { workspace, id },
      version: 1,
      written: written('created', author),
      doc,
      applied: withApplied(undefined, applying),
    })
    if (await inserted(database, definition, stored)) return { version: 1, doc }
    await ids.pass(workspace, definition.name, id)
  }
  throw new Problem('unavailable', { detail: 'No free id was found in time.' })
}

/**
 * Replaces one document by what `next` makes of it (undefined deletes it), in one write that only succeeds
 * when nobody else wrote in between; else it reads and tries again. `guard` is AND-ed to that write. What this
 * process wrote last is tried before reading; `next` refuses for good only what was read.
 */
export async function changeDocument<D extends ResourceDocument | undefined>(options: {
  database: Database
  definition: ResourceDefinition
  address: Address
  author: Author
  guard: Record<string, unknown>
  next(current: LiveDocument | undefined): D | Promise<D>
  /** The id of the message that is applied by it, once: throws {@link AlreadyApplied}, or {@link KeyTaken}. */
  applying?: string
  /** The thread whose erasure this is. */
  erasing?: string
}): Promise<{ version: number; doc: D }> {
  const { database, definition, address } = options
  const { recent } = database
  let remembered = recent.get(definition.name, address)
  let refused: number | undefined
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const stored = remembered ?? (await database.documents(definition.name).findOne({ _id: address }))
    if (stored !== null && stored.version === refused) throw new Problem('forbidden')
    const change = await changeOf(options, stored).catch((error) => {
      if (remembered === undefined) throw error
    })
    remembered = undefined
    recent.forget(definition.name, address)
    if (change === undefined) continue
    if (await change.write()) {
      recent.set(definition.name, change.stored)
      return { version: change.stored.version, doc: change.doc }
    }
    refused = stored?.version
  }
  throw new Problem('unavailable', { detail: 'Too many others are writing this document.' })
}

async function changeOf<D extends ResourceDocument | undefined>(
  options: Parameters<typeof changeDocument<D>>[0],
  stored: StoredDocument | null,
) {
  const { database, definition, address, author, applying, erasing } = options
  if (applying !== undefined && stored?.applied?.includes(applying)) throw new AlreadyApplied()
  const current = liveDocument(stored)
  const doc = await options.next(current)
  if (current === undefined && doc !== undefined) await requireRoom(database, definition, address.workspace)
  const version = (stored?.version ?? 0) + 1
  const since = stored === null || current === undefined ? version : sinceOf(stored)
  const as = doc === undefined ? 'deleted' : current === undefined ? 'created' : 'updated'
  const applied = withApplied(stored?.applied, applying)
  const formerThreads = formerThreadsOf(definition, { stored, doc, erasing })
  const next = toStored({
    ...{ definition, address, version, since, written: written(as, author), doc, applied, formerThreads },
  })
  const guard = current === undefined ? {} : options.guard
  const filter = { $and: [{ _id: address, version: version - 1 }, guard] }
  const write = () =>
    stored === null ? inserted(database, definition, next) : replaced(database, definition, { filter, next })
  return { stored: next, doc, write }
}

/** Throws `validation_failed` where the workspace has as many as it may have. Writes at the same moment may go a few beyond. */
async function requireRoom(
  database: Database,
  { name, most }: ResourceDefinition,
  workspace: number,
): Promise<void> {
  if (most === undefined) return
  if ((await countLive(database, { resource: name, workspace, most })) < most) return
  const message = `a workspace has at most ${most} ${name}`
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'too_many', message }] })
}

/** How many documents a workspace has, counted up to `most`. */
export function countLive(
  database: Pick<Database, 'documents'>,
  { resource, workspace, most }: { resource: ResourceName; workspace: number; most: number },
): Promise<number> {
  return database.documents(resource).countDocuments({ '_id.workspace': workspace, ...LIVE }, { limit: most })
}

function written(as: Authorship['as'], by: Author): Authorship {
  return { as, at: new Date().toISOString(), by }
}

/** False when the id is taken. */
async function inserted(
  database: Database,
  definition: ResourceDefinition,
  stored: StoredDocument,
): Promise<boolean> {
  try {
    await database.documents(definition.name).insertOne(stored)
    return true
  } catch (error) {
    if (duplicateOf(error) === 'id') return false
    throw writeError(error)
  }
}

async function replaced(
  database: Database,
  definition: ResourceDefinition,
  write: { filter: object; next: StoredDocument },
): Promise<boolean> {
  try {
    const result = await database.documents(definition.name).replaceOne(write.filter, write.next)
    return result.matchedCount === 1
  } catch (error) {
    throw writeError(error)
  }
}

function writeError(error: unknown): unknown {
  if (duplicateOf(error) === 'key') return new KeyTaken()
  const code = (error as { code?: unknown }).code
  if (code === OUT_OF_RANGE || TOO_LARGE_CODES.includes(Number(code))) {
    return new Problem('body_too_large', {
      detail: 'The document would be too large to be stored.',
      cause: error,
    })
  }
  return error
}

/** Which unique index refused a write: that of `_id`, or another; undefined when the error is something else. */
function duplicateOf(error: unknown): 'id' | 'key' | undefined {
  const { code, keyPattern } = error as { code?: unknown; keyPattern?: Record<string, unknown> }
  if (code !== DUPLICATE_KEY) return undefined
  return keyPattern !== undefined && '_id' in keyPattern ? 'id' : 'key'
}
