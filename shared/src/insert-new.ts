import { mongo } from 'mongoose'

const DUPLICATE_KEY = 11_000

/**
 * Inserts the documents whose ids are not there yet, without the fields that are undefined, and returns those that were
 * there. Rejects unless all others are durably written: a lost connection comes as the same error, with nothing said of
 * single documents.
 */
export async function insertNew<T extends mongo.Document>(
  collection: mongo.Collection<T>,
  documents: T[],
): Promise<T[]> {
  if (documents.length === 0) return []
  try {
    await collection.insertMany(documents as mongo.OptionalUnlessRequiredId<T>[], {
      ordered: false,
      ignoreUndefined: true,
    })
    return []
  } catch (error) {
    if (!(error instanceof mongo.MongoBulkWriteError)) throw error
    const failures = [error.writeErrors].flat()
    const allAccountedFor = error.insertedCount + failures.length === documents.length
    const durable = error.result.getWriteConcernError() === undefined
    if (!allAccountedFor || !durable || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error
    return failures.flatMap(({ index }) => documents[index] ?? [])
  }
}

/** True when a unique index refused a write; with `field`, an index over that field. */
export function isDuplicate(error: unknown, field?: string): boolean {
  const { code, keyPattern } = error as { code?: number; keyPattern?: Record<string, unknown> }
  return code === DUPLICATE_KEY && (field === undefined || (keyPattern !== undefined && field in keyPattern))
}
