import { defined } from '@parley/shared/defined'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { createWebhookSigner } from '@parley/shared/signing-secret'
import { outcomeOfCall, outcomeOfStatus } from '../channels/http/call-outcome.ts'
import type { HttpClient } from '../channels/http/http-client.ts'
import type { Delivery, DeliveryAttempt } from '../message/delivery.ts'
import type { Outcome } from '../message/outcome.ts'
import type { Subscription } from './subscriptions.ts'

/** A receiver that has not answered by then has not got it. */
const EVENT_TIMEOUT_MS = 15_000
const MAX_RESPONSE_BYTES = 64 * 1024

/** How an attempt to deliver ended. */
export interface Posted {
  attempt: DeliveryAttempt
  reason: string
  /** True if there was any response. */
  hasResponse: boolean
  /** The receiver says by 410 that it is there no more, and wants nothing more (Standard Webhooks). */
  isGone?: boolean
  /** When the receiver wants to be asked again, as far as it says so. */
  retryAfterSeconds?: number
}

/** Posts a delivery to its receiver, signed by Standard Webhooks: a 2xx means that it has it. `signal` breaks it off. */
export type PostEvent = (
  delivery: Pick<Delivery, '_id' | 'payload'>,
  to: Subscription,
  signal: AbortSignal,
) => Promise<Posted>

export function createPostEvent(options: {
  http: Pick<HttpClient, 'post'>
  secrets: Pick<SecretBox, 'open'>
  now: () => number
}): PostEvent {
  const { http, secrets, now } = options
  return async ({ _id, payload }, to, signal) => {
    const at = new Date(now())
    const began = performance.now()
    const outcome = await post()
    const ms = Math.round(performance.now() - began)
    if (outcome.kind === 'accepted')
      return { attempt: { at, ms, outcome: 'accepted' }, reason: '', hasResponse: true }
    const { code, reason } = outcome
    const { retryAfterSeconds } = { retryAfterSeconds: undefined, ...outcome }
    return {
      attempt: { at, ms, outcome: 'failed', code },
      reason,
      hasResponse: code.startsWith('http_'),
      ...(code === 'http_410' && { isGone: true }),
      ...defined({ retryAfterSeconds }),
    }

    async function post(): Promise<Outcome> {
      try {
        const sealed = { url: to.url, signingSecret: to.signingSecret }
        const { url, signingSecret } = openSecrets(sealed, secrets, to.workspace)
        const seconds = Math.floor(at.getTime() / 1_000)
        const signature = createWebhookSigner(signingSecret)({ id: _id, seconds, payload })
        const answer = await http.post({
          url,
          headers: {
            'content-type': 'application/json',
            'webhook-id': _id,
            'webhook-timestamp': String(seconds),
            'webhook-signature': signature,
          },
          body: payload,
          timeoutMs: EVENT_TIMEOUT_MS,
          maxBytes: MAX_RESPONSE_BYTES,
          signal,
        })
        return outcomeOfStatus(answer)
      } catch (error) {
        return outcomeOfCall(error)
      }
    }
  }
}
