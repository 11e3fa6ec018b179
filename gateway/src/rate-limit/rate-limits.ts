import type { Caller } from '@parley/shared/internal-token'
import { Counter, type Registry } from 'prom-client'
import type { GatewayConfig } from '../config.ts'
import type { Route } from '../routes.ts'
import { createRateCounter, type Policy, type RateCounter } from './rate-counter.ts'

/** Each throws `rate_limited` when the limit in question is reached. */
export interface RateLimits {
  /** A request to a public path: unchecked, so what one address sends can't use up another's share. */
  anonymous(route: Route, path: string, address: string): void
  /** Counts what the gateway answers itself: a page, or that it takes no such request. */
  page(address: string): void
  /** A token that is not known here: checking it costs more than the request. */
  unknownToken(address: string): void
  /** A request whose caller is known. */
  caller(route: Route, caller: Caller): void
}

const UNLIMITED = 1_000_000_000
const MINUTE = 60
// Other texts in a slug's place name no workspace, so all of them are counted as one.
const SLUG = /^[a-z0-9-]{1,63}$/
const NO_SLUG = ''

/** The limits of the configuration; what it leaves open is strict in production and out of reach elsewhere. */
export function createRateLimits(
  config: GatewayConfig,
  registry: Registry,
): { limits: RateLimits; counters: RateCounter[] } {
  const refused = new Counter({
    name: 'parley_rate_limited_total',
    help: 'Requests refused with 429, by the limit that was reached',
    labelNames: ['policy'],
    registers: [registry],
  })
  const counting = (policy: Policy) =>
    createRateCounter({ ...policy, onRefused: () => refused.inc({ policy: policy.name }) })
  const quota = (configured: number | undefined, production: number) =>
    configured ?? (config.NODE_ENV === 'production' ? production : UNLIMITED)
  const perMinute = (name: string, quota: number) => counting({ name, quota, windowSeconds: MINUTE })
  const credentials = perMinute('credentials', quota(config.RATE_CREDENTIALS_PER_MINUTE, 30))
  const addresses = perMinute('address', quota(config.RATE_ADDRESS_PER_MINUTE, 6_000))
  const tokens = perMinute('token', quota(config.RATE_TOKEN_PER_MINUTE, 6_000))
  const perSecond = quota(config.RATE_WEBHOOK_PER_SECOND, 1_000)
  const webhook = counting({ name: 'webhook', quota: perSecond, windowSeconds: 1 })
  const providers = counting({
    name: 'webhook_address',
    quota: quota(config.RATE_WEBHOOK_ADDRESS_PER_SECOND, 10_000),
    windowSeconds: 1,
  })
  const limits: RateLimits = {
    anonymous: (route, path, address) => {
      if (route.limit === 'webhook') {
        providers.take(address)
        webhook.take(`slug ${slugIn(route, path)} from ${address}`)
      } else if (route.limit === 'credentials') credentials.take(address)
      else addresses.take(address)
    },
    page: (address) => addresses.take(address),
    unknownToken: (address) => addresses.take(address),
    caller: (route, { workspace, session, token }) => {
      if (route.limit === 'webhook') webhook.take(`workspace ${workspace._id}`)
      else tokens.take(session ?? `token ${token}`)
    },
  }
  return { limits, counters: [credentials, addresses, tokens, webhook, providers] }
}

function slugIn(route: Route, path: string): string {
  const [_provider, segment = ''] = path.slice(route.path.length + 1).split('/', 2)
  return SLUG.test(segment) ? segment : NO_SLUG
}
