import type { WebhookMessage } from '@parley/shared/message'
import type { Outcome } from '../message/outcome.ts'
import { DELIVERY_MS } from './callback.ts'
import type { Channel } from './channels.ts'
import { outcomeOfCall, outcomeOfStatus } from './http/call-outcome.ts'
import type { HttpClient } from './http/http-client.ts'
import type { Signer } from './signing.ts'

const MAX_RESPONSE_BYTES = 64 * 1024

/** A person is to take a thread over. */
interface HandOff {
  channel: Channel
  messageId: string
  message: WebhookMessage
  /** The idempotency key, the same on every attempt. */
  id: string
  /** In the words of the model. */
  reason: string
}

/** How the channel is told; undefined where it has no `config.handOffUrl`. Each attempt within 12 s, never throws. */
export type HandOffCallback = (handOff: HandOff) => { url: string; deliver(): Promise<Outcome> } | undefined

/** By a signed POST to the channel's `config.handOffUrl`; a 2xx means that it was taken. */
export function createHandOffCallback(options: {
  http: Pick<HttpClient, 'post'>
  signer: Signer
}): HandOffCallback {
  const { http, signer } = options
  return (handOff) => {
    const { handOffUrl: url } = handOff.channel.config
    if (typeof url !== 'string' || !/^https?:/.test(url) || !URL.canParse(url)) return undefined
    const post = async () => {
      const payload = payloadOf(handOff)
      const headers = signer.headers({ channel: handOff.channel, id: handOff.id, payload, at: new Date() })
      return http.post({
        url,
        headers: { ...headers, 'idempotency-key': handOff.id, 'content-type': 'application/json' },
        body: payload,
        timeoutMs: DELIVERY_MS,
        maxBytes: MAX_RESPONSE_BYTES,
      })
    }
    return { url, deliver: () => post().then(outcomeOfStatus).catch(outcomeOfCall) }
  }
}

function payloadOf({ channel, messageId, message, id, reason }: HandOff): string {
  const { extId, user, thread } = message
  return JSON.stringify({ id, messageId, channel: channel._id, extId, user, thread, type: 'handOff', reason })
}
