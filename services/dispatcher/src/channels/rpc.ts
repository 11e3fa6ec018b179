import type { Outcome } from '../message/outcome.ts'
import { type Callback, DELIVERY_MS, type Delivery } from './callback.ts'
import type { Channel } from './channels.ts'
import { outcomeOfFailure, retryAfterOf } from './http/call-outcome.ts'
import { withErrorText } from './http/error-text.ts'
import { CallError, type HttpClient, type HttpResponse } from './http/http-client.ts'
import type { Signer } from './signing.ts'

const MAX_RESPONSE_BYTES = 64 * 1024
const RETRYABLE_STATUSES = new Set([408, 425, 429])

/** Sends by a signed POST to the channel's `config.callbackUrl`; a 2xx means delivered. */
export function createRpcCallback(options: { http: Pick<HttpClient, 'post'>; signer: Signer }): Callback {
  const { http, signer } = options
  return {
    reports: false,
    urlOf,
    async deliver(delivery) {
      const { channel, id, mayLeave } = delivery
      const url = urlOf(channel)
      if (delivery.content.kind === 'whatsapp') return ONLY_WHATSAPP
      if (url === undefined) {
        return {
          kind: 'permanent',
          code: 'channel_not_configured',
          fault: 'channel',
          reason: 'The channel has no http(s) URL in config.callbackUrl.',
        }
      }
      const payload = payloadOf(delivery)
      try {
        const headers = signer.headers({ channel, id, payload, at: new Date() })
        const call = {
          url,
          headers: { ...headers, 'content-type': 'application/json' },
          body: payload,
          timeoutMs: DELIVERY_MS,
          maxBytes: MAX_RESPONSE_BYTES,
          mayLeave,
        }
        const answer = await http.post(call)
        return withErrorText(outcomeOfStatus(answer), answer, call)
      } catch (error) {
        return outcomeOfCall(error)
      }
    },
  }
}

function urlOf({ config: { callbackUrl: url } }: Channel): string | undefined {
  return typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url) ? url : undefined
}

const ONLY_WHATSAPP: Outcome = {
  kind: 'permanent',
  code: 'not_whatsapp',
  fault: 'caller',
  reason: 'The channel does not send through WhatsApp.',
}

function payloadOf({ channel, messageId, message, id, content }: Delivery): string {
  return JSON.stringify({
    id,
    messageId,
    channel: channel._id,
    extId: message.extId,
    user: message.user,
    thread: message.thread,
    type: content.kind,
    ...(content.kind === 'text' ? { text: content.text } : {}),
    ...(content.kind === 'template'
      ? { template: content.template, language: content.language, variables: content.variables }
      : {}),
  })
}

/** What an RPC endpoint's status means: 2xx took it; 408, 425, 429 and 5xx may work later; the rest will not. */
export function outcomeOfStatus(answer: Pick<HttpResponse, 'status' | 'headers'>): Outcome {
  const { status } = answer
  if (status >= 200 && status < 300) return { kind: 'accepted', delivered: true }
  const code = `http_${status}`
  const reason = `The endpoint answered ${status}.`
  if (status >= 500 || RETRYABLE_STATUSES.has(status)) {
    return { kind: 'retryable', code, fault: 'channel', reason, ...retryAfterOf(answer) }
  }
  return { kind: 'permanent', code, fault: 'channel', reason }
}

/** What a call that failed means where only the status counts: it is known also when the answer was too large. */
export function outcomeOfCall(error: unknown): Outcome {
  if (error instanceof CallError && error.status !== undefined)
    return outcomeOfStatus({ status: error.status, headers: {} })
  return outcomeOfFailure(error)
}
