import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayClient } from '@parley/local/demo/gateway-client'
import { z } from 'zod'
import type { AudiencePerson } from './audience.ts'

/** Who has opted out, by their numbers. */
interface OptOuts {
  /** When that was answered with 200. */
  stored: ReadonlyMap<string, number>
  /** Those whose request was not answered, and who have opted out all the same, at some time. */
  unanswered: ReadonlySet<string>
}

/** Has people opt out one after another, from the last of the list on, evenly over the run, until it is stopped. */
export function startOptOuts(
  gateway: Pick<GatewayClient, 'call' | 'get'>,
  { people, everyMs, most }: { people: readonly AudiencePerson[]; everyMs: number; most: number },
): { stop(): Promise<OptOuts> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const stored = new Map<string, number>()
  const unknown: AudiencePerson[] = []
  // From both ends: some have got their message, and some are about to.
  const agreed = people.filter(({ hasConsent }) => hasConsent)
  const chosen = agreed.filter((_, at) => at % Math.max(1, Math.floor(agreed.length / most)) === 0)
  const loop = (async () => {
    for (const person of chosen) {
      if (signal.aborted) return
      const { _id, phone } = person
      const consent = { marketing: { status: 'withdrawn' } }
      // Unavailable for longer than the client tries: then it is not known yet, and somebody else's turn.
      const isStored = await gateway
        .call('PATCH', `/rest/people/${_id}`, { consent })
        .then(() => true)
        .catch(() => false)
      if (isStored) stored.set(phone, Date.now())
      else unknown.push(person)
      await pause(everyMs, undefined, { signal }).catch(() => undefined)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await loop
      const unanswered = new Set<string>()
      for (const { _id, phone } of unknown) if (await hasOptedOut(gateway, _id)) unanswered.add(phone)
      return { stored, unanswered }
    },
  }
}

const consenting = z.looseObject({
  consent: z.looseObject({ marketing: z.looseObject({ status: z.string() }).optional() }),
})

async function hasOptedOut(gateway: Pick<GatewayClient, 'get'>, id: string): Promise<boolean> {
  const person = consenting.parse(await gateway.get(`/rest/people/${id}`))
  return person.consent.marketing?.status === 'withdrawn'
}
