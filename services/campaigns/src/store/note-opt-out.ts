import type { Connection } from 'mongoose'
import { recipientsOf } from './recipient-record.ts'

/** So long what people do counts as done after a message. */
const FOLLOWED_MS = 3 * 24 * 60 * 60_000
/** Providers say when something was written in whole seconds. */
const SECOND_MS = 1_000

/**
 * Notes on the messages of campaigns that somebody got in the three days before that they have opted out; `people` are their
 * id and those that they had. It may be done again. Rejects while the database is unavailable.
 */
export async function noteOptOut(
  connection: Connection,
  { workspace, people, at }: { workspace: number; people: readonly string[]; at: Date },
): Promise<void> {
  const [from, below] = [at.getTime() - FOLLOWED_MS, at.getTime() + SECOND_MS]
  await recipientsOf(connection).updateMany(
    {
      ...{ workspace, person: { $in: [...people] } },
      claimedAt: { $gte: new Date(from), $lt: new Date(below) },
      optedOutAt: { $exists: false },
    },
    { $set: { optedOutAt: at } },
  )
}
