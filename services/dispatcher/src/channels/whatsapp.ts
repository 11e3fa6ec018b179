import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { WHATSAPP_API_URL } from '@parley/shared/provider-addresses'
import { z } from 'zod'
import type { PersonalContent } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import { addressIn, type PersonAddress } from '../message/person-address.ts'
import { replyArgs } from '../message/plan.ts'
import { type Callback, DELIVERY_MS } from './callback.ts'
import type { Channel } from './channels.ts'
import { outcomeOfFailure, retryAfterOf } from './http/call-outcome.ts'
import { withErrorText } from './http/error-text.ts'
import type { HttpClient, HttpResponse } from './http/http-client.ts'

const MAX_RESPONSE_BYTES = 64 * 1024

/** The longest text that the Cloud API takes in one message, in characters. */
export const MAX_WHATSAPP_TEXT = 4096

/** What a channel of WhatsApp's needs in its `config`. */
export const channelConfig = z.object({
  phoneNumberId: z.string().min(1),
  accessToken: z.string().min(1),
  apiUrl: z.url({ protocol: /^https?$/ }).default(WHATSAPP_API_URL),
})

/** Sends through Meta's WhatsApp Cloud API (POST /{phoneNumberId}/messages). */
export function createWhatsappCallback(http: Pick<HttpClient, 'post'>): Callback {
  return {
    reports: true,
    maxText: MAX_WHATSAPP_TEXT,
    rateKeys({ workspace, config: { phoneNumberId } }, message) {
      const address = addressIn(message.user.phone)
      if (typeof phoneNumberId !== 'string' || address === undefined) return undefined
      const person = 'phone' in address ? address.phone : address.id
      return { number: `${workspace}:${phoneNumberId}`, person }
    },
    urlOf({ config }) {
      const known = channelConfig.safeParse(config)
      return known.success ? sendUrl(known.data) : undefined
    },
    async deliver({ channel, message, id, content, mayLeave }) {
      const config = channelConfig.safeParse(channel.config)
      if (!config.success) return misconfigured(config.error, channel)
      const address = addressIn(message.user.phone)
      if (address === undefined)
        return permanent(
          'no_address',
          'caller',
          "The message's user.phone is neither a phone number nor an id that WhatsApp gave, so there is nobody to write to.",
        )
      const { accessToken } = config.data
      try {
        const call = {
          url: sendUrl(config.data),
          headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            ...contentOf(content, message),
            messaging_product: 'whatsapp',
            ...recipientOf(address),
            biz_opaque_callback_data: id,
          }),
          timeoutMs: DELIVERY_MS,
          maxBytes: MAX_RESPONSE_BYTES,
          mayLeave,
        }
        const answer = await http.post(call)
        return withErrorText(outcomeOf(answer), answer, call)
      } catch (error) {
        return outcomeOfFailure(error)
      }
    },
  }
}

export function sendUrl({ apiUrl, phoneNumberId }: z.output<typeof channelConfig>): string {
  return `${apiUrl.replace(/\/$/, '')}/${encodeURIComponent(phoneNumberId)}/messages`
}

/** A person by number, or by id alone; undefined takes the place of what a message object might name. */
function recipientOf(address: PersonAddress): object {
  return 'phone' in address
    ? { recipient_type: 'individual', to: address.phone, recipient: undefined }
    : { recipient_type: undefined, to: undefined, recipient: address.id }
}

function contentOf(content: PersonalContent, { answer }: WebhookMessage): object {
  if (content.kind === 'whatsapp') {
    const { data } = replyArgs.safeParse(answer.functions?.[content.position]?.args)
    return data?.whatsapp ?? {}
  }
  if (content.kind === 'text') return { type: 'text', text: { body: content.text } }
  const { template, language, variables } = content
  const parameters = variables.map((text) => ({ type: 'text', text }))
  const components = parameters.length > 0 ? [{ type: 'body', parameters }] : []
  return { type: 'template', template: { name: template, language: { code: language }, components } }
}

const accepted = z.object({ messages: z.array(z.object({ id: z.string() })).min(1) })
const refused = z.object({ error: z.object({ code: z.number(), message: z.string().optional() }) })

/** Meta's error codes after which trying again can work (Cloud API error reference). */
const RETRYABLE_CODES = new Set([1, 2, 4, 80007, 130429, 131000, 131016, 131056, 131057, 133004])
/** Retryable, but slowly: seconds to wait. */
const SLOW_CODES = new Map([
  [131048, 60 * 60],
  [131049, 24 * 60 * 60],
])
/** Refusals that the message itself causes; other permanent ones are the channel's. */
const CALLER_CODES = new Set([100, 131008, 131009, 131021, 131026, 131047, 131051, 132000, 132012, 132018])
/** Answers of a proxy in between: the request may have arrived. */
const GATEWAY_STATUSES = new Set([502, 504])

/** What Meta's answer means for the send. */
export function outcomeOf(answer: HttpResponse): Outcome {
  const body = jsonOrUndefined(answer.body)
  const taken = accepted.safeParse(body)
  if (answer.status === 200 && taken.success) {
    return { kind: 'accepted', providerId: taken.data.messages[0]?.id ?? '', delivered: false }
  }
  const refusal = refused.safeParse(body)
  if (refusal.success) return outcomeOfCode(refusal.data.error.code, answer)
  const code = `http_${answer.status}`
  const reason = `The provider answered ${answer.status} without a reason.`
  if (answer.status === 200 || GATEWAY_STATUSES.has(answer.status)) {
    return { kind: 'uncertain', code, fault: 'provider', reason }
  }
  if (answer.status >= 500 || answer.status === 429 || answer.status === 408) {
    return { kind: 'retryable', code, fault: 'provider', reason, ...retryAfterOf(answer) }
  }
  return permanent(code, 'channel', reason)
}

function outcomeOfCode(code: number, answer: HttpResponse): Outcome {
  const reason = `The provider refused it with code ${code}.`
  const slow = SLOW_CODES.get(code)
  if (slow !== undefined) {
    return { kind: 'retryable', code: String(code), fault: 'provider', reason, retryAfterSeconds: slow }
  }
  if (RETRYABLE_CODES.has(code)) {
    return { kind: 'retryable', code: String(code), fault: 'provider', reason, ...retryAfterOf(answer) }
  }
  return permanent(String(code), CALLER_CODES.has(code) ? 'caller' : 'channel', reason)
}

function misconfigured(error: z.ZodError, { tokenWithheld }: Channel): Outcome {
  if (tokenWithheld !== undefined) return permanent('channel_not_configured', 'channel', tokenWithheld)
  const keys = error.issues.map((issue) => `config.${issue.path.join('.')}`).join(', ')
  return permanent('channel_not_configured', 'channel', `The channel lacks what WhatsApp needs: ${keys}.`)
}

function permanent(code: string, fault: 'caller' | 'channel', reason: string): Outcome {
  return { kind: 'permanent', code, fault, reason }
}
