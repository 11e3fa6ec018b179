import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Send } from './send-log.ts'

const MAX_NUMBERS = 10_000
const MAX_QUEUED = 100_000
const MAX_BATCH = 100
const REQUEST_MS = 10_000
const AGAIN_MS = 1_000

/** Where the statuses of a phone number's sends go, signed with the app's secret. */
export interface Webhook {
  phoneNumberId: string
  url: string
  appSecret: string
}

/** What happens to the news of a send. */
export interface NewsBehaviour {
  /** The person reads what was delivered. */
  reads?: boolean | undefined
  /** Every status comes twice. */
  repeats?: boolean | undefined
  /** The last status comes first. */
  reorders?: boolean | undefined
}

export interface StatusPoster {
  /** Replaces the phone number's webhook; without one its statuses are not posted. */
  register(webhook: Webhook): void
  /** Posts what becomes of a send. */
  follow(send: Send, behaviour: NewsBehaviour): void
  /** Drops what is still to be posted. */
  close(): void
}

interface Line {
  webhook: Webhook
  queue: object[]
  posting: boolean
}

/**
 * Posts statuses as Meta does: in batches, signed with `X-Hub-Signature-256`, and what is refused again each second.
 * At most 100,000 wait for each number.
 */
export function createStatusPoster(): StatusPoster {
  const lines = new Map<string, Line>()
  const closing = new AbortController()
  const pump = async (line: Line) => {
    line.posting = true
    while (line.queue.length > 0 && !closing.signal.aborted) {
      const batch = line.queue.slice(0, MAX_BATCH)
      if (await post(line.webhook, batch)) line.queue.splice(0, batch.length)
      else await pause(AGAIN_MS, undefined, { signal: closing.signal }).catch(() => {})
    }
    line.posting = false
  }
  return {
    register(webhook) {
      const line = lines.get(webhook.phoneNumberId)
      if (line === undefined) lines.set(webhook.phoneNumberId, { webhook, queue: [], posting: false })
      else line.webhook = webhook
      const [oldest] = lines.keys()
      if (lines.size > MAX_NUMBERS && oldest !== undefined) lines.delete(oldest)
    },
    follow(send, behaviour) {
      const line = lines.get(send.phoneNumberId)
      if (line === undefined || line.queue.length >= MAX_QUEUED) return
      line.queue.push(...newsOf(send, behaviour))
      if (!line.posting) void pump(line)
    },
    close: () => closing.abort(),
  }
}

function newsOf(send: Send, { reads, repeats, reorders }: NewsBehaviour): object[] {
  const states = ['sent', 'delivered', ...(reads ? ['read'] : [])]
  const ordered = reorders ? states.toReversed() : states
  return ordered
    .flatMap((state) => (repeats ? [state, state] : [state]))
    .map((status) => ({
      id: send.id,
      status,
      timestamp: String(Math.floor(Date.now() / 1_000)),
      recipient_id: send.to,
      ...(send.opaque === null ? {} : { biz_opaque_callback_data: send.opaque }),
    }))
}

async function post({ phoneNumberId, url, appSecret }: Webhook, statuses: object[]): Promise<boolean> {
  const metadata = { display_phone_number: phoneNumberId, phone_number_id: phoneNumberId }
  const value = { messaging_product: 'whatsapp', metadata, statuses }
  const change = { field: 'messages', value }
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '0', changes: [change] }],
  })
  const signature = createHmac('sha256', appSecret).update(body).digest('hex')
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
      body,
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    await answer.body?.cancel()
    return answer.ok
  } catch {
    return false
  }
}
