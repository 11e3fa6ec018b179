import { FairSlots } from '@parley/shared/fair-slots'
import type { WebhookMessage } from '@parley/shared/message'
import type { MessageRecord } from '../message/message-record.ts'
import type { Channel } from './channels.ts'
import type { HttpClient } from './http/http-client.ts'
import { channelConfig, sendUrl } from './whatsapp.ts'

/** WhatsApp shows it for 25 s, or until a message comes. */
const AGAIN_MS = 20_000
const TIMEOUT_MS = 5_000
const MAX_RESPONSE_BYTES = 16 * 1024
/** More are not shown. One workspace alone has 64. */
const IN_FLIGHT = { of: 'typing indicators', total: 192, spare: 2 }
const MAX_ID_CHARACTERS = 512

/**
 * Shows the person that somebody is typing, until `settled` resolves: by the read receipt of the message that is worked.
 * Nobody waits for it, and one that fails is not repeated.
 */
export type ShowTyping = (
  call: { channel: Channel; record: Pick<MessageRecord, 'source' | 'workspace'>; message: WebhookMessage },
  settled: Promise<void>,
) => void

/** Shows it in WhatsApp, for what came from Meta on a channel whose `config.typing` is not false. */
export function createShowTyping(http: Pick<HttpClient, 'post'>): ShowTyping {
  const slots = new FairSlots(IN_FLIGHT)
  const post = (workspace: number, request: Parameters<HttpClient['post']>[0]) => {
    const release = slots.take([workspace])
    if (release === undefined) return
    void http
      .post(request)
      .catch(() => {})
      .finally(release)
  }
  return ({ channel, record, message }, settled) => {
    const request = record.source === 'meta' ? requestOf(channel, message) : undefined
    if (request === undefined) return
    const { workspace } = record
    post(workspace, request)
    const timer = setInterval(() => post(workspace, request), AGAIN_MS)
    void settled.finally(() => clearInterval(timer))
  }
}

/** Undefined where there is nothing to show. */
function requestOf(
  { callback, config }: Channel,
  { meta }: WebhookMessage,
): Parameters<HttpClient['post']>[0] | undefined {
  const known = channelConfig.safeParse(config)
  const id = (meta as { id?: unknown } | null | undefined)?.id
  if (callback !== 'whatsapp' || config.typing === false || !known.success) return undefined
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARACTERS) return undefined
  return {
    url: sendUrl(known.data),
    headers: { authorization: `Bearer ${known.data.accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      messaging_product: 'whatsapp',
      status: 'read',
      message_id: id,
      typing_indicator: { type: 'text' },
    }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_RESPONSE_BYTES,
  }
}
