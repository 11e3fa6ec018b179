import { inTurns, requestBytes } from '../lab/load/http-lines.ts'

/** A system that takes messages, and what a client needs to post to it. */
export type LoadTarget = ParleyTarget | OutpostTarget

interface ParleyTarget {
  api: 'parley'
  /** The gateway's. */
  port: number
  token: string
  /** The channel's `extId`. */
  channel: string
}

interface OutpostTarget {
  api: 'outpost'
  port: number
  token: string
}

/** Threads of Parley, tenants of Outpost. */
export const RECIPIENTS = 1_000
/** The one that Outpost's tenants subscribe to. */
export const TOPIC = 'message'
export const tenantOf = (recipient: number) => `tenant-${recipient}`

/** The request that posts the message with this number; its endpoint gets `variables` with the load's name and the number. */
export function messageRequest(target: LoadTarget, load: string, index: number): Buffer {
  const recipient = index % RECIPIENTS
  const id = `${load}-${index}`
  const user = { phone: `+55119${String(recipient).padStart(8, '0')}` }
  const content = { template: 'order_update', language: 'en', variables: [load, String(index)] }
  const authorization = `Bearer ${target.token}`
  if (target.api === 'parley')
    return requestBytes({
      path: '/api/hooks/whatsapp',
      headers: { authorization, 'idempotency-key': id },
      body: JSON.stringify({
        extId: target.channel,
        user,
        thread: { extId: `thread-${recipient}` },
        answer: { functions: [{ name: 'sendTemplate', args: content }] },
      }),
    })
  return requestBytes({
    path: '/api/v1/publish',
    headers: { authorization },
    body: JSON.stringify({
      id,
      tenant_id: tenantOf(recipient),
      topic: TOPIC,
      data: { user, ...content },
    }),
  })
}

const THREADS = 256
const messageOf = (thread: number) => ({
  extId: 'support-line',
  user: { name: 'João', phone: `55119${thread}`, ctx: {} },
  thread: { extId: `thread-${thread}`, ctx: {} },
  answer: {
    message: 'Olá!',
    functions: [{ name: 'callback', args: { template: 'welcome', variables: ['João'], language: 'pt_BR' } }],
  },
})
/** One of the messages that {@link messageRequests} posts. */
export const BODY = JSON.stringify(messageOf(0))

/** Posts over 256 threads in turns, to whatever takes this token. */
export const messageRequests = (token: string) =>
  inTurns(
    Array.from({ length: THREADS }, (_, thread) =>
      requestBytes({
        path: '/api/hooks/whatsapp',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify(messageOf(thread)),
      }),
    ),
  )
