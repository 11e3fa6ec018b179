import { CallError } from '../../channels/http/call-error.ts'
import type { ModelResult } from '../model-client.ts'
import { type ErrorResponse, isQuotaSpent, waitAsked } from './provider-limits.ts'

/** Statuses beside 5xx after which another try may do better. */
const RETRYABLE_STATUSES = new Set([408, 425, 429])
/** Errors that the SDK throws for answers that break the contract of the provider's API. */
const BAD_RESPONSES =
  /^AI_(InvalidResponseData|TypeValidation|JSONParse|EmptyResponseBody|NoContentGenerated)Error$/
/** Errors that it throws for calls that it can't make. */
const BAD_REQUESTS =
  /^AI_(InvalidPrompt|InvalidArgument|UnsupportedFunctionality|NoSuchModel|LoadAPIKey)Error$/
/** How providers name, inside of a stream, what they refuse for good. */
const REFUSALS =
  /^(invalid_request|authentication|permission|not_found|billing|request_too_large|insufficient_quota|context_length_exceeded)/

/** The code of an answer that says nothing. */
export const EMPTY_RESPONSE = 'empty_answer'

/** The result of a call that has no turn. */
export type Failure = Exclude<ModelResult, { kind: 'answered' }>

/** An error that came inside of a stream, as the provider wrote it. */
export class StreamError extends Error {
  readonly isRefusal: boolean

  constructor(error: unknown) {
    const { message, type, code } = (typeof error === 'object' && error !== null ? error : {}) as Record<
      string,
      unknown
    >
    super(typeof message === 'string' ? message : '', { cause: error })
    this.isRefusal = [type, code].some((name) => REFUSALS.test(String(name ?? '')))
  }
}

/** Returns the result of a call of a model that threw; `present` makes the provider's text fit to be shown. */
export function failureOf(
  error: unknown,
  options: { timeoutMs: number; timedOut: boolean; cancelled: boolean; present(text: string): string },
): Failure {
  const { present } = options
  if (options.cancelled) return retryable('cancelled', 'The call was cancelled.')
  if (options.timedOut)
    return retryable('timeout', `The model did not answer within ${options.timeoutMs / 1_000} s.`)
  const chain = causesOf(error)
  const call = chain.find((one) => one instanceof CallError)
  if (call !== undefined) return failureOfCall(call)
  const http = chain.find(isHttpError)
  if (http !== undefined) return failureOfStatus(http, present)
  const stream = chain.find((one) => one instanceof StreamError)
  if (stream !== undefined && chain.length === 1) return failureOfStream(stream, present)
  const name = (name: RegExp) => chain.some((one) => one instanceof Error && name.test(one.name))
  if (stream !== undefined || name(BAD_RESPONSES))
    return retryable('bad_answer', "The provider's answer can't be read.")
  if (name(BAD_REQUESTS))
    return refused('bad_request', withText('The call could not be made', messageOf(error), present))
  return retryable('internal_error', 'The call of the model failed on our side.')
}

export const retryable = (code: string, reason: string): Extract<Failure, { kind: 'retryable' }> => ({
  kind: 'retryable',
  code,
  reason,
})
export const refused = (code: string, reason: string): Failure => ({ kind: 'refused', code, reason })

interface HttpError extends ErrorResponse {
  message: string
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
}

/** The error and what caused it, five at most. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = []
  for (let one = error; one instanceof Error && chain.length < 5; one = one.cause) chain.push(one)
  return chain
}

function failureOfCall({ failure }: CallError): Failure {
  switch (failure) {
    case 'refused_target':
      return refused('target_refused', 'The base URL leads to a private, loopback or link-local address.')
    case 'not_sent':
      return retryable('not_reached', 'The provider could not be reached.')
    case 'no_answer':
      return retryable('no_answer', 'The connection to the provider broke off.')
    case 'answer_too_large':
      return retryable('answer_too_large', "The model's answer is too large.")
  }
}

function failureOfStatus(error: HttpError, present: (text: string) => string): Failure {
  const { statusCode: status } = error
  if (status >= 200 && status < 300) return retryable('bad_answer', "The provider's answer can't be read.")
  if (status >= 300 && status < 400)
    return refused('redirected', `The provider answered ${status}: redirects are not followed.`)
  const reason = withText(
    `The provider answered ${status}`,
    error.message || error.responseBody || '',
    present,
  )
  if (isQuotaSpent(error)) return refused('quota_spent', reason)
  if (status < 500 && !RETRYABLE_STATUSES.has(status)) return refused(`http_${status}`, reason)
  return { ...retryable(`http_${status}`, reason), ...waitAsked(error) }
}

function failureOfStream(error: StreamError, present: (text: string) => string): Failure {
  const reason = withText('The provider broke its answer off', error.message, present)
  return error.isRefusal ? refused('refused_in_stream', reason) : retryable('broken_stream', reason)
}

function withText(beginning: string, text: string, present: (text: string) => string): string {
  const shown = present(text)
  return shown === '' ? `${beginning}.` : `${beginning}: ${shown}`
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')
