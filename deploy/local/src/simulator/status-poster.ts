import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '@parley/shared/defined'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { LoggedSend, TroubleLog } from './send-log.ts'

const MAX_NUMBERS = 10_000
const MAX_QUEUED = 100_000
const MAX_BATCH = 100
const REQUEST_MS = 10_000
const AGAIN_MS = 1_000

/** Where the statuses of a phone number's sends go, signed with the app's secret. */
interface Webhook {
  phoneNumberId: string
  url: string
  appSecret: string
}

/** The treatment of a send's statuses. */
export interface StatusBehaviour {
  /** The person reads what was delivered. */
  reads?: boolean | undefined
  /** Every status comes twice. */
  repeats?: boolean | undefined
  /** The last status comes first. */
  reorders?: boolean | undefined
  /** The category that a template is priced by. */
  category?: string
  /** They do not say what the send carried. */
  unnamed?: boolean | undefined
  /** They come so much later, in milliseconds. */
  delayMs?: number | undefined
  /** It does not get there, for the reason of this code. */
  failedWith?: number | undefined
}

/** A person's message to a number. */
interface InboundMessage {
  id: string
  phoneNumberId: string
  /** The number, or the id where it is not shown, or both. */
  from?: string | undefined
  userId?: string | undefined
  parentUserId?: string | undefined
  username?: string | undefined
  name: string
  /** Its type, and what is under the type's name. */
  content: object
}

/** A message of the business to somebody in its own app. */
type EchoedMessage = Pick<InboundMessage, 'id' | 'phoneNumberId' | 'content'> & { to: string }

export interface StatusPoster {
  /** Replaces the phone number's webhook; without one its statuses are not posted. */
  register(webhook: Webhook): void
  /** Posts what becomes of a send; resolves once that waits to be posted. */
  follow(send: LoggedSend, behaviour: StatusBehaviour): Promise<void>
  /** Posts what a person wrote; returns whether the number has a webhook that takes it. */
  deliver(message: InboundMessage): boolean
  /** As {@link deliver}, what the business wrote in its own app. */
  echo(message: EchoedMessage): boolean
  /** As {@link deliver}, what happened to the account: a whole change. */
  change(phoneNumberId: string, change: { field: string; value: object }): boolean
  /** Drops what is still to be posted. */
  close(): void
}

interface Update {
  kind: 'statuses' | 'messages' | 'message_echoes' | 'changes'
  item: object
  contact?: object
  /** Of changes: in seconds since the epoch, the same when it is posted again. */
  time?: number
}

interface Line {
  webhook: Webhook
  queue: Update[]
  posting: boolean
}

/**
 * Posts statuses as Meta does: in batches, signed with `X-Hub-Signature-256`; repeats what is refused each second.
 * At most 100,000 wait for each number.
 */
export function createStatusPoster(log: Pick<TroubleLog, 'counted'>): StatusPoster {
  const lines = new Map<string, Line>()
  const closing = new AbortController()
  const pump = async (line: Line) => {
    line.posting = true
    while (line.queue.length > 0 && !closing.signal.aborted) {
      const batch = line.queue.slice(0, MAX_BATCH)
      const counts = await post(line.webhook, batch)
      if (counts !== undefined) {
        log.counted(line.webhook.phoneNumberId, batch.length, counts)
        line.queue.splice(0, batch.length)
      } else await pause(AGAIN_MS, undefined, { signal: closing.signal }).catch(() => {})
    }
    line.posting = false
  }
  const add = (phoneNumberId: string, updates: Update[]): boolean => {
    const line = lines.get(phoneNumberId)
    if (line === undefined || line.queue.length >= MAX_QUEUED) return false
    line.queue.push(...updates)
    if (!line.posting) void pump(line)
    return true
  }
  return {
    register(webhook) {
      const line = lines.get(webhook.phoneNumberId)
      if (line === undefined) lines.set(webhook.phoneNumberId, { webhook, queue: [], posting: false })
      else line.webhook = webhook
      const [oldest] = lines.keys()
      if (lines.size > MAX_NUMBERS && oldest !== undefined) lines.delete(oldest)
    },
    async follow(send, behaviour) {
      const { delayMs = 0 } = behaviour
      if (delayMs > 0) await pause(delayMs, undefined, { signal: closing.signal, ref: false }).catch(() => {})
      if (!closing.signal.aborted) add(send.phoneNumberId, statusesOf(send, behaviour))
    },
    deliver: (message) => add(message.phoneNumberId, [inboundOf(message)]),
    echo: ({ id, phoneNumberId, to, content }) => {
      const item = { id, from: phoneNumberId, to, timestamp: seconds(), ...content }
      return add(phoneNumberId, [{ kind: 'message_echoes', item }])
    },
    change: (phoneNumberId, item) => add(phoneNumberId, [{ kind: 'changes', item, time: Number(seconds()) }]),
    close: () => closing.abort(),
  }
}

function statusesOf(send: LoggedSend, behaviour: StatusBehaviour): Update[] {
  const { reads, repeats, reorders, unnamed, failedWith, category } = behaviour
  const gotThere = ['sent', 'delivered', ...(reads ? ['read'] : [])]
  const states = failedWith === undefined ? gotThere : ['sent', 'failed']
  const ordered = reorders ? states.toReversed() : states
  return ordered
    .flatMap((state) => (repeats ? [state, state] : [state]))
    .map((status) => ({
      kind: 'statuses',
      item: {
        id: send.id,
        status,
        timestamp: seconds(),
        ...(/^\d/.test(send.to) ? { recipient_id: send.to } : { recipient_user_id: send.to }),
        ...(send.opaque === null || unnamed ? {} : { biz_opaque_callback_data: send.opaque }),
        ...(status === 'sent' || status === 'delivered' ? { pricing: pricingOf(send, category) } : {}),
        ...(status === 'failed' ? { errors: [{ code: failedWith, title: 'Failed as configured' }] } : {}),
      },
    }))
}

/** Templates cost, and what is written in reply to people does not. */
const pricingOf = ({ type }: LoggedSend, category = 'utility') =>
  type === 'template'
    ? { billable: true, pricing_model: 'PMP', category, type: 'regular' }
    : { billable: false, pricing_model: 'PMP', category: 'service', type: 'free_customer_service' }

function inboundOf({ id, from, userId, parentUserId, username, name, content }: InboundMessage): Update {
  const sender = defined({ from, from_user_id: userId, from_parent_user_id: parentUserId })
  const ids = defined({ wa_id: from, user_id: userId, parent_user_id: parentUserId })
  return {
    kind: 'messages',
    item: { id, ...sender, timestamp: seconds(), ...content },
    contact: { profile: { name, ...defined({ username }) }, ...ids },
  }
}

const seconds = (): string => String(Math.floor(Date.now() / 1_000))

/** The entries, as Meta groups them: each change of the account has one of its own, with the time at which it happened. */
function entriesOf(phoneNumberId: string, updates: Update[]): object[] {
  const isOf = (kind: Update['kind']) => (update: Update) => update.kind === kind
  const echoes = updates.filter(isOf('message_echoes'))
  const others = updates.filter(({ kind }) => kind === 'messages' || kind === 'statuses')
  const grouped = [
    { field: 'messages', updates: others },
    { field: 'smb_message_echoes', updates: echoes },
  ].filter((group) => group.updates.length > 0)
  const changes = grouped.map(({ field, updates: all }) => ({
    field,
    value: changeValue(phoneNumberId, all),
  }))
  return [
    ...(changes.length > 0 ? [{ id: '0', changes }] : []),
    ...updates.filter(isOf('changes')).map(({ item, time }) => ({ id: '0', time, changes: [item] })),
  ]
}

function changeValue(phoneNumberId: string, updates: Update[]): object {
  const of = (kindOfItem: Update['kind']) =>
    updates.flatMap(({ kind, item }) => (kind === kindOfItem ? [item] : []))
  const contacts = updates.flatMap(({ contact }) => (contact === undefined ? [] : [contact]))
  const kinds = ['messages', 'statuses', 'message_echoes'] as const
  const lists = [['contacts', contacts] as const, ...kinds.map((kind) => [kind, of(kind)] as const)]
  return {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: phoneNumberId, phone_number_id: phoneNumberId },
    ...Object.fromEntries(lists.filter(([, list]) => list.length > 0)),
  }
}

/** Posts to the webhook and resolves to its response; undefined where it did not take them. */
async function post(
  { phoneNumberId, url, appSecret }: Webhook,
  updates: Update[],
): Promise<Record<string, number> | undefined> {
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: entriesOf(phoneNumberId, updates),
  })
  const signature = createHmac('sha256', appSecret).update(body).digest('hex')
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
      body,
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    const text = await response.text()
    return response.ok ? countsIn(text) : undefined
  } catch {
    return undefined
  }
}

/** Whoever takes them may answer with anything. */
function countsIn(text: string): Record<string, number> {
  const counts = Object.entries(jsonOrUndefined(text) ?? {}).filter(([, count]) =>
    Number.isSafeInteger(count),
  )
  return Object.fromEntries(counts) as Record<string, number>
}
