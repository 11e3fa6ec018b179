import { z } from 'zod'
import type { GatewayClient } from './gateway-client.ts'
import { type LoggedMessage, sumOf, type TimeSpent, timeSpent } from './time-spent.ts'

const AT_ONCE = 6
const PAGE = 200
/** Reading each message of a large run would take longer than the run. */
const MOST = 2_000
const SENT = ['sent', 'delivered', 'read']

const time = z.iso.datetime().transform((text) => Date.parse(text))
const page = z.looseObject({
  data: z.array(z.looseObject({ _id: z.string() })),
  next: z.string().nullable(),
})
const message = z.looseObject({
  thread: z.string(),
  receivedAt: time,
  timeline: z.array(z.looseObject({ at: time, state: z.string() })),
  attempts: z.array(z.looseObject({ at: time, ms: z.number(), outcome: z.string() })),
})

/** Where the messages of a workspace spent their time; the latest 2,000 of them, by the message log. */
export async function readTimes(
  gateway: Pick<GatewayClient, 'get'>,
  killed: { from: number; to: number } | undefined,
): Promise<{ messages: number; spent: TimeSpent }> {
  const ids = await latestIds(gateway)
  const found = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, worker) => {
      const own: z.output<typeof message>[] = []
      for (let at = worker; at < ids.length; at += AT_ONCE)
        own.push(message.parse(await gateway.get(`/rest/messages/${ids[at]}`)))
      return own
    }),
  )
  const messages = found.flat().toSorted((a, b) => a.receivedAt - b.receivedAt)
  const threads = Map.groupBy(messages, ({ thread }) => thread)
  const spent = [...threads.values()].map((thread) => timeSpent(thread.map(loggedMessage), killed))
  return { messages: messages.length, spent: sumOf(spent) }
}

async function latestIds(gateway: Pick<GatewayClient, 'get'>): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = ''; after !== null && ids.length < MOST; ) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(after === '' ? {} : { after }) })
    const { data, next } = page.parse(await gateway.get(`/rest/messages?${query}`))
    ids.push(...data.map(({ _id }) => _id))
    after = next
  }
  return ids
}

function loggedMessage({ receivedAt, timeline, attempts }: z.output<typeof message>): LoggedMessage {
  const sent = timeline.find(({ state }) => SENT.includes(state)) ?? timeline.at(-1)
  return {
    receivedAt,
    sentAt: sent?.at ?? receivedAt,
    attempts: attempts.map(({ at, ms, outcome }) => ({ startedAt: at - ms, endedAt: at, outcome })),
  }
}
