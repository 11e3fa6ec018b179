import type { mongo } from 'mongoose'

const ID = 'intake'
const REQUEST_MS = 2_000
/** Not seen open for longer (milliseconds), it may have been closed meanwhile. */
const UNSEEN_MS = 5_000

/** Since when providers can hand in statuses, as the instances together have seen it, by the clock of the database. */
export interface OpenIntake {
  _id: typeof ID
  openSince: Date
  seenAt: Date
}

type OpenIntakes = Pick<mongo.Collection<OpenIntake>, 'findOneAndUpdate' | 'deleteOne'>

/**
 * Notes that this instance has seen the intake open for `openMs`, and returns for how long (milliseconds) instances
 * have seen it without a gap: at least `openMs`. So what a send waits for goes on when its instance ends.
 */
export async function noteOpenIntake(intakes: OpenIntakes, openMs: number): Promise<number> {
  const isSeen = { $gt: ['$seenAt', { $subtract: ['$$NOW', UNSEEN_MS] }] }
  const openSince = {
    $min: [{ $subtract: ['$$NOW', openMs] }, { $cond: [isSeen, '$openSince', '$$NOW'] }],
  }
  const noted = await intakes.findOneAndUpdate({ _id: ID }, [{ $set: { openSince, seenAt: '$$NOW' } }], {
    upsert: true,
    returnDocument: 'after',
    maxTimeMS: REQUEST_MS,
  })
  return noted === null ? openMs : noted.seenAt.getTime() - noted.openSince.getTime()
}

/** Notes that this instance has seen it closed: only who has seen it open all the time knows better. */
export async function noteClosedIntake(intakes: OpenIntakes): Promise<void> {
  await intakes.deleteOne({ _id: ID }, { maxTimeMS: REQUEST_MS })
}
