import { jsonOrUndefined } from '../../parse-json.ts'
import type { ProviderResponse } from '../http.ts'
import type { Rates } from '../outbound.ts'
import { own, textAt } from '../own.ts'
import type { Settings } from '../setting.ts'
import { get, versionOf } from './api.ts'

/** Messages a second of a number, in and out (Cloud API, throughput). */
export const THROUGHPUT = {
  /** It is used in the WhatsApp Business app as well. */
  coexistence: 20,
  standard: 80,
  high: 1_000,
}
/** Since when the limit of people is a field of the portfolio. */
const PORTFOLIO_VERSION = 24

/** Fields that the API is asked for: a number's rate, and its standing. */
export function rateFields(settings: Settings): string {
  const limit =
    versionOf(settings) < PORTFOLIO_VERSION
      ? 'messaging_limit_tier'
      : 'whatsapp_business_manager_messaging_limit'
  return `throughput,is_on_biz_app,platform_type,quality_rating,${limit}`
}

/** How many messages a number may send: in a second, and to one person. */
export const rates: Rates = {
  keyOf: ({ phoneNumberId }) => phoneNumberId,
  perSecond: THROUGHPUT.standard,
  person: { intervalMs: 6_000, burst: 45 },
  lookup: {
    least: THROUGHPUT.coexistence,
    request: (settings) =>
      get(settings, `${encodeURIComponent(settings.phoneNumberId ?? '')}?fields=${rateFields(settings)}`),
    read: throughputIn,
  },
}

/** How many messages a second a number may send, by what the API says of it. */
export function throughputIn({ status, body }: ProviderResponse): number | undefined {
  if (status !== 200) return undefined
  const found = jsonOrUndefined(body)
  if (own(found, 'is_on_biz_app') === true && textAt(found, 'platform_type') !== 'ON_PREMISE')
    return THROUGHPUT.coexistence
  const level = textAt(found, 'throughput', 'level')?.toUpperCase()
  if (level === 'HIGH') return THROUGHPUT.high
  return level === 'STANDARD' ? THROUGHPUT.standard : undefined
}
