import { jsonOrUndefined } from '../../parse-json.ts'
import type { ProviderResponse, SendOutcome } from '../http.ts'
import { own, textAt } from '../own.ts'

/** Meta's error codes after which trying again can work (Cloud API error reference). */
const RETRYABLE_CODES = new Set([1, 2, 4, 80007, 130429, 131000, 131016, 131056, 131057, 133004])
const TOO_FAST = 130429
/** Retryable, but slowly: seconds to wait. */
const SLOW_CODES = new Map([
  [131048, 60 * 60],
  [131049, 24 * 60 * 60],
])
/** Refusals that the message itself causes; other permanent ones are the channel's. */
const CALLER_CODES = new Set([100, 131008, 131009, 131021, 131026, 131047, 131051, 132000, 132012, 132018])
/** Responses of a proxy in between: the request may have arrived. */
const GATEWAY_STATUSES = new Set([502, 504])

/** What Meta's response means for the send. */
export function outcomeOf({ status, body: text }: ProviderResponse): SendOutcome {
  const body = jsonOrUndefined(text)
  const [message] = messagesIn(body)
  if (status === 200 && message !== undefined)
    return { kind: 'accepted', providerId: message, delivered: false }
  const refusal = own(body, 'error', 'code')
  if (typeof refusal === 'number') return outcomeOfCode(refusal)
  const code = `http_${status}`
  const reason = `The provider answered ${status} without a reason.`
  if (status === 200 || GATEWAY_STATUSES.has(status))
    return { kind: 'uncertain', code, fault: 'provider', reason }
  if (status >= 500 || status === 429 || status === 408)
    return { kind: 'retryable', code, fault: 'provider', reason }
  return { kind: 'permanent', code, fault: 'channel', reason }
}

/** The ids of what was taken; none unless each has one. */
function messagesIn(body: unknown): string[] {
  const messages = own(body, 'messages')
  const ids = Array.isArray(messages) ? messages.map((message) => own(message, 'id')) : []
  return ids.every((id) => typeof id === 'string') ? ids : []
}

function outcomeOfCode(number: number): SendOutcome {
  const code = String(number)
  const reason = `The provider refused it with code ${code}.`
  const slow = SLOW_CODES.get(number)
  if (slow !== undefined)
    return { kind: 'retryable', code, fault: 'provider', reason, retryAfterSeconds: slow }
  if (RETRYABLE_CODES.has(number))
    return {
      ...{ kind: 'retryable', code, fault: 'provider', reason },
      ...(number === TOO_FAST && { isTooFast: true }),
    }
  return { kind: 'permanent', code, fault: CALLER_CODES.has(number) ? 'caller' : 'channel', reason }
}

/** Meta's text of an error, and its details. */
export function errorTextOf({ body }: Pick<ProviderResponse, 'body'>): string | undefined {
  const error = own(jsonOrUndefined(body), 'error')
  const message = own(error, 'message')
  if (typeof message !== 'string') return undefined
  return [message, textAt(error, 'error_data', 'details')].filter((text) => text).join(': ')
}
