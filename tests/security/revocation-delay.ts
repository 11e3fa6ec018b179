import { setTimeout as delay } from 'node:timers/promises'

const BETWEEN_MS = 20
const WATCH_MS = 4_000

/**
 * Revokes something that works and goes on calling for 4 s. Resolves with when the last call that was still
 * let through was sent, in milliseconds after the revocation was sent; rejects when it did not work before.
 */
export async function lastAcceptedAfter(options: {
  use(): Promise<number>
  revoke(): Promise<number>
}): Promise<number> {
  const { use, revoke } = options
  const before = await use()
  if (before !== 200) throw new Error(`what is to be revoked answers ${before} already`)
  const started = performance.now()
  let lastAccepted = 0
  const watch = async () => {
    while (performance.now() - started < WATCH_MS) {
      const sentAt = performance.now() - started
      const status = await use()
      if (status === 200) lastAccepted = sentAt
      else if (status !== 401) throw new Error(`a revoked caller got ${status}`)
      await delay(BETWEEN_MS)
    }
  }
  const [revoked] = await Promise.all([revoke(), watch()])
  if (revoked !== 200) throw new Error(`the revocation answered ${revoked}`)
  return lastAccepted
}
