import { group } from '@parley/shared/group'
import type { mongo } from 'mongoose'

const AT_ONCE = 2

/** The first `limit` documents that match, in an order that an index has. */
interface List {
  match: mongo.BSON.Document
  sort: Record<string, 1 | -1>
  limit: number
  project?: mongo.BSON.Document
}

/** The list's documents. Rejects when the database is unavailable, or takes too long. */
export type ReadList<Found> = (list: List) => Promise<Found[]>

/**
 * Reads lists of a collection. What is asked for at once is read with one statement, up to `listsAtOnce` lists, each by
 * its own walk of an index, since a statement costs the driver more than what it reads. Rejects when the database is
 * unavailable, or takes longer than `queryMs` milliseconds for a statement.
 */
export function createReadList<Found extends object>(
  collection: Pick<mongo.Collection<never>, 'aggregate' | 'collectionName'>,
  { listsAtOnce, queryMs }: { listsAtOnce: number; queryMs: number },
): ReadList<Found> {
  return group<List, Found[]>({
    work: async (lists) => {
      const [first, ...others] = lists.map(({ match, sort, limit, project }, list) => [
        ...[{ $match: match }, { $sort: sort }, { $limit: limit }],
        ...(project === undefined ? [] : [{ $project: project }]),
        { $replaceWith: { list, document: '$$ROOT' } },
      ])
      const unions = others.map((pipeline) => ({
        $unionWith: { coll: collection.collectionName, pipeline },
      }))
      const options = { maxTimeMS: queryMs }
      const found = await collection
        .aggregate<{ list: number; document: Found }>([...(first ?? []), ...unions], options)
        .toArray()
      const results: Found[][] = lists.map(() => [])
      for (const { list, document } of found) results[list]?.push(document)
      return results
    },
    maxItems: listsAtOnce,
    atOnce: AT_ONCE,
  })
}
