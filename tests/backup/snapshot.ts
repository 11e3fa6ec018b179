import { cp, rm } from 'node:fs/promises'
import { withAdmin } from '@parley/local/servers/mongodb'

const ASK_MS = 5_000

/**
 * Copies mongod's data folder while it is locked, as a snapshot of its volume does: MongoDB takes no writes meanwhile.
 * Returns for how many milliseconds it took none.
 */
export async function takeSnapshot(options: { mongoUrl: string; data: string; to: string }): Promise<number> {
  const { mongoUrl, data, to } = options
  return withAdmin(mongoUrl, ASK_MS, async (admin) => {
    await admin.command({ fsync: 1, lock: true })
    const lockedAt = performance.now()
    try {
      await cp(data, to, { recursive: true })
    } finally {
      await admin.command({ fsyncUnlock: 1 })
    }
    return performance.now() - lockedAt
  })
}

/** Puts a snapshot in the place of mongod's data folder, while no mongod runs on it. */
export async function restoreSnapshot(options: { from: string; data: string }): Promise<void> {
  const { from, data } = options
  await rm(data, { recursive: true, force: true })
  await cp(from, data, { recursive: true })
  // Of the mongod that ran when the snapshot was taken.
  await rm(`${data}/mongod.lock`, { force: true })
}
