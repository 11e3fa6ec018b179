import { jsonObject } from '@parley/shared/json-object'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { retryAfterOf } from '../../channels/http/call-outcome.ts'

/** An answer of a provider that is an error. */
export interface ErrorResponse {
  statusCode: number
  responseHeaders?: Record<string, string>
  responseBody?: string
}

/** How providers name, with status 429, what no waiting mends: money, or what there is for a day. */
const SPENT =
  /^(insufficient_quota|exceeded_current_quota|billing_|insufficient_(balance|credits?|funds)|1113$)/
/** Google names the quota instead. */
const DAILY_QUOTA = /"quotaId"\s*:\s*"[^"]*PerDay/
/** In what Google says, as its durations are written. */
const RETRY_DELAY = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"/
const UNIT_SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 }
/** `20ms`, `1.5s`, `6m0s`. */
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd])){1,5}$/
const LIMIT = /^(?:x-|anthropic-)?ratelimit-/

/** True if a 429 reports a spent quota, for which another try of this model does not help. */
export function isQuotaSpent({ statusCode, responseBody = '' }: ErrorResponse): boolean {
  if (statusCode !== 429) return false
  if (DAILY_QUOTA.test(responseBody)) return true
  const body = jsonOrUndefined(responseBody)
  const { data: outer } = jsonObject.safeParse(Array.isArray(body) ? body[0] : body)
  const { data: inner } = jsonObject.safeParse(outer?.error)
  const { type, code } = inner ?? outer ?? {}
  return [type, code].some((name) => SPENT.test(String(name ?? '')))
}

/**
 * How long a provider asks to be left alone, in seconds: by `retry-after-ms`, `Retry-After` or the text of the error, else,
 * with 429, until the limits are reset that have nothing left, or the next of them where all have.
 */
export function waitAsked(answer: ErrorResponse, now = Date.now()): { retryAfterSeconds?: number } {
  const { statusCode, responseHeaders: headers = {}, responseBody = '' } = answer
  const ms = headers['retry-after-ms']
  if (ms !== undefined && /^\d{1,12}(?:\.\d{1,9})?$/.test(ms))
    return { retryAfterSeconds: Number(ms) / 1_000 }
  const said = retryAfterOf({ headers }, now)
  if (said.retryAfterSeconds !== undefined) return said
  const delay = RETRY_DELAY.exec(responseBody)?.[1]
  if (delay !== undefined) return { retryAfterSeconds: Number(delay) }
  const reset = statusCode === 429 ? secondsToReset(headers, now) : undefined
  return reset === undefined ? {} : { retryAfterSeconds: reset }
}

function secondsToReset(headers: Record<string, string>, now: number): number | undefined {
  const resets = Object.entries(headers).flatMap(([name, value]) => {
    if (!LIMIT.test(name) || !/(^|-)reset(-|$)/.test(name)) return []
    const seconds = secondsUntil(value.trim(), now)
    const isSpent = headers[name.replace('reset', 'remaining')]?.trim() === '0'
    return seconds === undefined ? [] : [{ seconds, isSpent }]
  })
  const spent = resets.filter(({ isSpent }) => isSpent)
  if (spent.length > 0) return Math.max(...spent.map(({ seconds }) => seconds))
  return resets.length === 0 ? undefined : Math.min(...resets.map(({ seconds }) => seconds))
}

/** A duration, an instant (RFC 3339, or since the epoch in seconds or milliseconds), or seconds. */
function secondsUntil(value: string, now: number): number | undefined {
  if (DURATION.test(value))
    return [...value.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|[smhd])/g)].reduce(
      (sum, [, count, unit = 's']) => sum + Number(count) * (UNIT_SECONDS[unit] ?? 1),
      0,
    )
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(value)) return Number(value)
  const at = /^\d{10}$/.test(value)
    ? Number(value) * 1_000
    : /^\d{13}$/.test(value)
      ? Number(value)
      : Date.parse(value)
  return Number.isFinite(at) ? Math.max(0, (at - now) / 1_000) : undefined
}
