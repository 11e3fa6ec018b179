import { setTimeout as delay } from 'node:timers/promises'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { z } from 'zod'
import type { Callers } from './callers.ts'

const INTERVAL_MS = 1_000
// Identity repeats each change for 10 s. This is longer, so that a repetition is recognised.
const REMEMBER_MS = 30_000
const MAX_CHANGES = 5_000
// Identity may start a little later than the gateway.
const FAILURES_BEFORE_WARNING = 5

const changesSchema = z.object({
  now: z.number(),
  complete: z.boolean(),
  changes: z.array(z.object({ id: z.string(), kind: z.string(), key: z.string() })).max(MAX_CHANGES),
})

/**
 * Asks identity every second what was revoked or changed, and forgets those callers. A change is applied
 * again while identity repeats it, so that a response that was in flight at its first time is forgotten too.
 */
export function followRevocations(options: {
  identity: Pick<InternalClient, 'get'>
  /** All that go by what identity confirmed of callers. */
  rememberers: readonly Pick<Callers, 'forget' | 'forgetAll'>[]
  log: Log
}): { close(): Promise<void> } {
  const { identity, rememberers, log } = options
  const seen = new Map<string, number>()
  let since = 0
  const poll = async () => {
    const reply = changesSchema.parse(await identity.get(`/internal/changes?since=${since}`))
    const now = performance.now()
    if (!reply.complete) for (const one of rememberers) one.forgetAll()
    for (const [id, seenAt] of seen) if (now - seenAt > REMEMBER_MS) seen.delete(id)
    for (const { id } of reply.changes) if (!seen.has(id)) seen.set(id, now)
    const changes = reply.changes.map((change) => ({ ...change, seenAt: seen.get(change.id) ?? now }))
    for (const one of rememberers) one.forget(changes)
    since = reply.now
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
        if (++failures === FAILURES_BEFORE_WARNING)
          log.warn(
            { reason },
            'revocations not read from identity: revoked tokens are accepted until identity is back, 15 minutes at most',
          )
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
