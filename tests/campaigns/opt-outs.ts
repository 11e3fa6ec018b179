import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayClient } from '@parley/local/demo/gateway-client'
import type { AudiencePerson } from './audience.ts'

/** Who has opted out, by the number, and when that was answered with 200. */
type OptOuts = ReadonlyMap<string, number>

/** Has people opt out one after another, from the last of the list on, evenly over the run, until it is stopped. */
export function startOptOuts(
  gateway: Pick<GatewayClient, 'call'>,
  { people, everyMs, most }: { people: readonly AudiencePerson[]; everyMs: number; most: number },
): { stop(): Promise<OptOuts> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const optOuts = new Map<string, number>()
  // From both ends: some have got their message, and some are about to.
  const agreed = people.filter(({ hasConsent }) => hasConsent)
  const chosen = agreed.filter((_, at) => at % Math.max(1, Math.floor(agreed.length / most)) === 0)
  const loop = (async () => {
    for (const { _id, phone } of chosen) {
      if (signal.aborted) return
      const consent = { marketing: { status: 'withdrawn' } }
      // Unavailable for longer than the client tries: then it is not known, and somebody else's turn.
      const isStored = await gateway
        .call('PATCH', `/rest/people/${_id}`, { consent })
        .then(() => true)
        .catch(() => false)
      if (isStored) optOuts.set(phone, Date.now())
      await pause(everyMs, undefined, { signal }).catch(() => undefined)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await loop
      return optOuts
    },
  }
}
