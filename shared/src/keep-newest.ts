import { mongo } from 'mongoose'

const DUPLICATE_KEY = 11_000

/**
 * Writes a version in the place of an older one, which may not be there at all; a newer one stays as it is.
 * `copy` is an expression of the aggregation language: texts that may begin with `$` go into `$literal`.
 */
export async function keepNewest<T extends { _id: string; version: number }>(
  collection: mongo.Collection<T>,
  copy: mongo.Document & { _id: string; version: number },
  { orSame }: { orSame: boolean },
): Promise<void> {
  const { _id, version } = copy
  const older = { _id, version: orSame ? { $lte: version } : { $lt: version } }
  try {
    await collection.updateOne(older as unknown as mongo.Filter<T>, [{ $replaceWith: copy }], {
      upsert: true,
    })
  } catch (error) {
    const isNewerHeld = error instanceof mongo.MongoServerError && error.code === DUPLICATE_KEY
    if (!isNewerHeld) throw error
  }
}
