/** A request to a provider, which whoever makes it bounds in time and size. */
export interface ProviderRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  headers: Record<string, string>
  body?: string
  /** The body is signed by the channel's secret, as Standard Webhooks has it. */
  isSigned?: true
}

/** A provider's response. */
export interface ProviderResponse {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty where only the status is known. */
  body: string
}

/** The outcome of a send, as far as a response says it. */
export type SendOutcome =
  /** The provider took it; `delivered` when that is all there is to wait for. */
  | { kind: 'accepted'; providerId?: string; delivered: boolean }
  /** Not now; `retryAfterSeconds` where it is not the response's `Retry-After`, `isTooFast` where the number's rate was it. */
  | (Failure & { kind: 'retryable'; retryAfterSeconds?: number; isTooFast?: true })
  /** Not at all; `isOptOut` where the person has told the provider that they want no marketing of the business. */
  | (Failure & { kind: 'permanent'; isOptOut?: true })
  /** It may have happened. */
  | (Failure & { kind: 'uncertain' })

interface Failure {
  code: string
  fault: 'caller' | 'channel' | 'provider' | 'recipient'
  reason: string
}

const RETRYABLE_STATUSES = new Set([408, 425, 429])

/** The outcome by an endpoint's status alone: 2xx took it; 408, 425, 429 and 5xx may work later; the rest will not. */
export function outcomeOfStatus({ status }: Pick<ProviderResponse, 'status'>): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'accepted', delivered: true }
  const failure = {
    code: `http_${status}`,
    fault: 'channel',
    reason: `The endpoint answered ${status}.`,
  } as const
  if (status >= 500 || RETRYABLE_STATUSES.has(status)) return { kind: 'retryable', ...failure }
  return { kind: 'permanent', ...failure }
}
