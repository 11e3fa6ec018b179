import type { mongo } from 'mongoose'

/** A document that counts the ids of some kinds. */
export interface CounterDocument {
  _id: string
  counts: Record<string, number>
}

/**
 * Takes ids from the counter document `from`: how many of each kind are taken, and the first of each kind
 * comes back. Never part of a transaction, where every writer would wait for every other: an id that is not
 * used in the end is lost.
 */
export async function takeIds<K extends string>(options: {
  counters: mongo.Collection<CounterDocument>
  from: string
  amounts: Record<K, number>
}): Promise<Record<K, number>> {
  const { counters, from, amounts } = options
  const kinds = Object.keys(amounts) as K[]
  const after = await counters.findOneAndUpdate(
    { _id: from },
    { $inc: Object.fromEntries(kinds.map((kind) => [`counts.${kind}`, amounts[kind]])) },
    { upsert: true, returnDocument: 'after' },
  )
  const firsts = kinds.map((kind) => [kind, Number(after?.counts[kind]) - amounts[kind] + 1])
  return Object.fromEntries(firsts) as Record<K, number>
}
