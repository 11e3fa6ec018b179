import { BlockList } from 'node:net'
import { addressRanges } from '@parley/shared/addresses'
import {
  type BaseConfig,
  bodyTimeoutConfig,
  integer,
  optionalRedisConfig,
  publicUrlConfig,
  servicesConfig,
} from '@parley/shared/config'
import { z } from 'zod'

const quota = (what: string, production: string) =>
  integer({ min: 1, max: 1_000_000_000 })
    .optional()
    .describe(`Limit for ${what}; in production ${production}, else none`)

/** The environment of the gateway. */
export const gatewayConfig = {
  ...servicesConfig('identity', 'webhook', 'configuration', 'dispatcher', 'campaigns'),
  UPSTREAM_TIMEOUT_MS: integer({ min: 100, max: 110_000 })
    .default(30_000)
    .describe('How long a service may be silent before the caller gets 504, in milliseconds'),
  ...bodyTimeoutConfig(
    '; a file of people may take longer. At least 1 KiB has to arrive in each third of that time',
  ),
  ...optionalRedisConfig('where all instances settle their rate limits', 'each counts alone'),
  RATE_CREDENTIALS_PER_MINUTE: quota('registrations and logins from one address', '30 a minute'),
  RATE_ADDRESS_PER_MINUTE: quota('requests from one address without a known token', '6,000 a minute'),
  RATE_TOKEN_PER_MINUTE: quota('requests with one token', '6,000 a minute'),
  RATE_WEBHOOK_PER_SECOND: quota('messages to the webhook for one workspace', '1,000 a second'),
  RATE_WEBHOOK_ADDRESS_PER_SECOND: quota(
    "requests to workspaces' own webhook addresses from one address",
    '10,000 a second',
  ),
  ...publicUrlConfig('https says that callers come over TLS, and sends HSTS'),
  CORS_ORIGINS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((origin) => origin.trim())
        .filter((origin) => origin !== ''),
    )
    .pipe(
      z.array(
        z.url({ abort: true }).refine((url) => new URL(url).origin === url, { error: 'is not an origin' }),
      ),
    )
    .describe('Origins whose pages may read responses, separated by commas; none when not set'),
  TRUSTED_PROXIES: addressRanges
    .default(new BlockList())
    .describe('Proxies whose X-Forwarded-For is believed, as ranges: 10.0.0.0/8,fd00::/8; none when not set'),
}

export type GatewayConfig = z.output<z.ZodObject<typeof gatewayConfig>> & BaseConfig
