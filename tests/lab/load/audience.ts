import { randomUUIDv7 } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayClient } from '@parley/local/demo/gateway-client'
import {
  configOf,
  misbehave,
  registerWebhook,
  SIMULATED,
  type SimulatedNumber,
  simulatedNumber,
} from '@parley/local/simulator/client'
import mongoose from 'mongoose'
import { z } from 'zod'

const BATCH = 5_000

/** Somebody of the audience. */
interface AudiencePerson {
  _id: string
  phone: string
  hasConsent: boolean
}

/** Stores people of the workspace that was registered last, as an import does: nine of ten have agreed to marketing. */
export async function addAudience(mongoUrl: string, count: number): Promise<AudiencePerson[]> {
  const connection = await mongoose.createConnection(mongoUrl, { dbName: 'campaigns' }).asPromise()
  try {
    const registered = await connection
      .useDb('identity')
      .collection<{ _id: number }>('workspaces')
      .findOne({}, { sort: { _id: -1 } })
    const workspace = registered?._id
    const people = Array.from({ length: count }, (_, at) => ({
      _id: randomUUIDv7(),
      phone: `55119${String(at).padStart(8, '0')}`,
      hasConsent: at % 10 !== 0,
    }))
    const now = new Date()
    for (let from = 0; from < count; from += BATCH)
      await connection.collection<{ _id: string }>('people').insertMany(
        people.slice(from, from + BATCH).map(({ _id, phone, hasConsent }) => ({
          ...{ _id, workspace, addresses: [`phone:${phone}`], attributes: {}, tags: [] },
          ...{ createdAt: now, updatedAt: now, revision: 0 },
          consent: hasConsent ? { marketing: { status: 'granted', at: now, source: 'import' } } : {},
        })),
      )
    return people
  } finally {
    await connection.close()
  }
}

/** The people who have opted out, by their numbers. */
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

/** Connects a number of the simulator's, which takes so many messages a second, to the channel of that `extId`. */
export async function connectOffers(
  gateway: Pick<GatewayClient, 'putChannel' | 'providerUrl'>,
  options: { simulatorUrl: string; extId: string; messagesPerSecond: number },
): Promise<SimulatedNumber> {
  const { simulatorUrl, extId, messagesPerSecond } = options
  const number = simulatedNumber(simulatorUrl, String(Date.now()))
  await gateway.putChannel({
    ...{ name: 'Offers', description: '', extId, handlerUrl: 'native:agents/echo' },
    ...{ hook: SIMULATED.name, callback: SIMULATED.name },
    config: { ...configOf(number), businessAccountId: number.phoneNumberId },
  })
  await misbehave({ ...number, behaviour: { messagesPerSecond } })
  await registerWebhook(number, gateway.providerUrl(extId))
  return number
}
