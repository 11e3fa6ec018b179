import { setTimeout as delay } from 'node:timers/promises'
import type { ClientSession, Connection } from 'mongoose'

const DEADLINE_MS = 4_000
const BACKOFF_MS = 20

/**
 * Runs `work` in a transaction. Conflicts with other writers are tried again for up to 4 s, so `work` may run
 * more than once; every other error, and the last conflict, is thrown with nothing written.
 */
export async function inTransaction<T>(
  connection: Connection,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS
  const session = await connection.startSession()
  try {
    for (;;) {
      session.startTransaction({ writeConcern: { w: 'majority' } })
      try {
        const result = await work(session)
        await session.commitTransaction()
        return result
      } catch (error) {
        if (session.inTransaction()) await session.abortTransaction().catch(() => undefined)
        if (!isTransient(error) || performance.now() > deadline) throw error
        await delay(Math.random() * BACKOFF_MS)
      }
    }
  } finally {
    await session.endSession()
  }
}

function isTransient(error: unknown): boolean {
  return (error as { errorLabelSet?: Set<string> }).errorLabelSet?.has('TransientTransactionError') === true
}

/** Whether `error` says that a unique index over `field` already holds the value. */
export function isDuplicate(error: unknown, field: string): boolean {
  const { code, keyPattern } = error as { code?: number; keyPattern?: Record<string, unknown> }
  return code === 11_000 && keyPattern !== undefined && field in keyPattern
}
