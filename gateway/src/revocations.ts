import { setTimeout as delay } from 'node:timers/promises'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { z } from 'zod'
import type { Callers } from './callers.ts'

const INTERVAL_MS = 1_000
// Identity tells each change for 10 s; after that it need not be recognised any more.
const REMEMBER_MS = 30_000
const MAX_CHANGES = 5_000
// While the system starts, identity may come up a little later.
const TELLING_FAILURES = 5

const changesSchema = z.object({
  now: z.number(),
  complete: z.boolean(),
  changes: z.array(z.object({ id: z.string(), kind: z.string(), key: z.string() })).max(MAX_CHANGES),
})

/**
 * Asks identity every second what was revoked or changed, and forgets those callers. A change is applied
 * anew for as long as identity tells it, so that an answer which was on its way then does not outlive it.
 */
export function followRevocations(options: {
  identity: Pick<InternalClient, 'get'>
  callers: Pick<Callers, 'forget' | 'forgetAll'>
  log: Log
}): { close(): Promise<void> } {
  const { identity, callers, log } = options
  const seen = new Map<string, number>()
  let since = 0
  const poll = async () => {
    const answer = changesSchema.parse(await identity.get(`/internal/changes?since=${since}`))
    const now = performance.now()
    if (!answer.complete) callers.forgetAll()
    for (const [id, seenAt] of seen) if (now - seenAt > REMEMBER_MS) seen.delete(id)
    for (const { id } of answer.changes) if (!seen.has(id)) seen.set(id, now)
    callers.forget(answer.changes.map((change) => ({ ...change, seenAt: seen.get(change.id) ?? now })))
    since = answer.now
  }
  const closing = new AbortController()
  const loop = async () => {
    let failures = 0
    while (!closing.signal.aborted) {
      try {
        await poll()
        failures = 0
      } catch (error) {
        const reason = error instanceof Error ? error.message : 'unknown'
        if (++failures === TELLING_FAILURES) log.warn({ reason }, 'revocations not read')
      }
      await delay(INTERVAL_MS, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }
  const running = loop()
  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}
