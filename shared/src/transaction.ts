import type { mongo } from 'mongoose'
import { withTimeout } from './with-timeout.ts'

const TIMEOUT_MS = 10_000

/**
 * Runs `work` in a transaction of the driver, which repeats it after a conflict with another writer; so `work` may run
 * more than once. Every error of its own is thrown with nothing written. Rejects with `unavailable` after 10 s; then
 * it is not known whether it was committed.
 */
export async function inTransaction<T>(
  client: { startSession(): mongo.ClientSession | Promise<mongo.ClientSession> },
  work: (session: mongo.ClientSession) => Promise<T>,
  options: Pick<mongo.TransactionOptions, 'readConcern'> = {},
): Promise<T> {
  const session = await client.startSession()
  try {
    // The driver goes on for 120 s, and its `timeoutMS` has no effect.
    const committed = session.withTransaction(() => work(session), {
      ...options,
      maxCommitTimeMS: TIMEOUT_MS,
    })
    return await withTimeout(TIMEOUT_MS, committed)
  } finally {
    await session.endSession()
  }
}
