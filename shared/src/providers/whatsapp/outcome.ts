import { jsonOrUndefined } from '../../parse-json.ts'
import type { ProviderResponse, SendOutcome } from '../http.ts'
import { own, textAt } from '../own.ts'
import { outcomeOfCode } from './codes.ts'

/** Responses of a proxy in between: the request may have arrived. */
const GATEWAY_STATUSES = new Set([502, 504])

/** The outcome of a send by Meta's response. */
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

/** Meta's text of an error, and its details. */
export function errorTextOf({ body }: Pick<ProviderResponse, 'body'>): string | undefined {
  const error = own(jsonOrUndefined(body), 'error')
  const message = own(error, 'message')
  if (typeof message !== 'string') return undefined
  return [message, textAt(error, 'error_data', 'details')].filter((text) => text).join(': ')
}
