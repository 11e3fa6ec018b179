import type { Connection, mongo } from 'mongoose'

/** The part of a collection that making indexes needs. */
type Indexed = Pick<mongo.Collection, 'collectionName' | 'createIndexes' | 'dropIndex'>

/**
 * Makes the collections that a database does not have, which first writes that come together would conflict over, and
 * the indexes of each, by its name. Rejects as {@link ensureIndexes} does.
 */
export async function prepareCollections(
  connection: Pick<Connection, 'db'>,
  collections: Readonly<Record<string, readonly mongo.IndexDescription[]>>,
  { outdated = {} }: { outdated?: Readonly<Record<string, readonly string[]>> } = {},
): Promise<void> {
  const db = connection.db as mongo.Db
  const listed = await db.listCollections({}, { nameOnly: true }).toArray()
  const present = new Set(listed.map(({ name }) => name))
  await Promise.all(
    Object.entries(collections).map(async ([name, indexes]) => {
      if (!present.has(name)) await makeCollection(db, name)
      await ensureIndexes(connection, db.collection(name), indexes, { outdated: outdated[name] ?? [] })
    }),
  )
}

/** Another instance may have made it meanwhile. */
async function makeCollection(db: mongo.Db, name: string): Promise<void> {
  try {
    await db.createCollection(name)
  } catch (error) {
    if ((error as { code?: unknown }).code !== EXISTS) throw error
  }
}

/**
 * Makes the indexes that a collection does not have, and drops the `outdated` ones, by name. It looks first: asked to make
 * what is there, the database still waits until all that others write is in its journal. Rejects where there is an index
 * of the same key with other options.
 */
export async function ensureIndexes(
  connection: Pick<Connection, 'db'>,
  collection: Indexed,
  indexes: readonly mongo.IndexDescription[],
  { outdated = [] }: { outdated?: readonly string[] } = {},
): Promise<void> {
  if (indexes.length + outdated.length === 0) return
  const present = await builtIndexes(connection, collection)
  for (const name of outdated) if (present.some((one) => one.name === name)) await dropIndex(collection, name)
  const described = new Set(present.map(describe))
  const missing = indexes.filter((index) => !described.has(describe(index)))
  if (missing.length > 0) await collection.createIndexes(missing)
}

/** Returns the properties that we set on an index, with the key's fields in their order. */
function describe(index: mongo.IndexDescription): string {
  const { key, unique = false, expireAfterSeconds, partialFilterExpression } = index
  return JSON.stringify([key, unique, expireAfterSeconds, partialFilterExpression])
}

const NO_COLLECTION = 26
const NO_INDEX = 27
const EXISTS = 48

/** One that another instance is building is missing yet: asked to make it, the database waits until it is built. */
async function builtIndexes(
  connection: Pick<Connection, 'db'>,
  { collectionName }: Indexed,
): Promise<mongo.IndexDescription[]> {
  try {
    const db = connection.db as mongo.Db
    const { cursor } = await db.command({ listIndexes: collectionName, includeBuildUUIDs: true })
    const listed = cursor.firstBatch as (mongo.IndexDescription & { buildUUID?: unknown })[]
    return listed.filter(({ buildUUID }) => buildUUID === undefined)
  } catch (error) {
    if ((error as { code?: unknown }).code !== NO_COLLECTION) throw error
    return []
  }
}

/** Another instance may have dropped it meanwhile. */
async function dropIndex(collection: Indexed, name: string): Promise<void> {
  try {
    await collection.dropIndex(name)
  } catch (error) {
    if ((error as { code?: unknown }).code !== NO_INDEX) throw error
  }
}
