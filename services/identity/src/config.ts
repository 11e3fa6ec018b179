import {
  type BaseConfig,
  integer,
  mongoConfig,
  optionalRedisConfig,
  publicUrlConfig,
  randomInProduction,
  requiredInProduction,
  safeInProduction,
  wrongConfig,
} from '@parley/shared/config'
import { keyring } from '@parley/shared/sealed-value'
import { z } from 'zod'

const MIN_PRODUCTION_COST = 10
/** An address, alone or in angle brackets after a name. */
const ADDRESS = /^[^@\r\n]{0,100}@[^@\s]{1,255}$/
const DNS_NAME = /^(?=.{1,180}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** The environment of the identity service. */
export const identityConfig = {
  ...mongoConfig('identity'),
  PEPPERS: safeInProduction(
    keyring({ minBytes: 32, maxBytes: 64 }).describe(
      'Secrets mixed into every password before it is hashed, id:base64[,id:base64…]; the first is current',
    ),
    randomInProduction,
  ),
  KEY_ENCRYPTION_KEYS: safeInProduction(
    keyring({ minBytes: 32, maxBytes: 32 }).describe(
      'AES-256 keys for the private signing keys, id:base64[,id:base64…]; the first is current',
    ),
    randomInProduction,
  ),
  BASE_DOMAIN: safeInProduction(
    z
      .string()
      .regex(DNS_NAME)
      .default('localhost')
      .describe('The domain below which every workspace has its host; required in production'),
    requiredInProduction,
  ),
  AUDIT_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(365)
    .describe('How many days entries of the audit log are there'),
  PASSWORD_MIN_LENGTH: integer({ min: 1, max: 128 })
    .optional()
    .describe('The fewest characters of a password; 8 in production and 1 elsewhere when not set'),
  ...optionalRedisConfig('where all instances count logins', 'each counts alone'),
  FREE_LOGIN_TRIES: integer({ min: 1, max: 1_000_000 })
    .optional()
    .describe(
      'Logins of one account in five minutes before they slow down; 5 in production, 1,000 elsewhere',
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'The server that takes mail, with user and password: smtps://user:password@host, or smtp:// with STARTTLS, which ' +
        '?requireTLS=true insists on; needs MAIL_FROM and PUBLIC_URL; nobody gets mail when not set',
    ),
  MAIL_FROM: z
    .string()
    .regex(ADDRESS)
    .optional()
    .describe('From whom mail comes: Parley <parley@example.com>; required with SMTP_URL'),
  ...publicUrlConfig('links in mails lead to its console; required with SMTP_URL'),
  SIMULATOR_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Where a simulator of providers is that the console may offer for a first channel; none when not set',
    ),
  BCRYPT_COST: safeInProduction(
    integer({ min: 4, max: 14 })
      .default(10)
      .describe('The work factor of password hashes; below 10 only outside production'),
    (text) =>
      text !== undefined && Number(text) < MIN_PRODUCTION_COST
        ? `is below ${MIN_PRODUCTION_COST}`
        : undefined,
  ),
}

export type IdentityConfig = z.output<z.ZodObject<typeof identityConfig>> & BaseConfig

/** The settings for sending mail. */
export interface MailSettings {
  smtpUrl: string
  from: string
  publicUrl: string
}

/** Undefined where no mail is sent. Throws a `ConfigError` where only a part of what it takes is set. */
export function mailSettings({ SMTP_URL, MAIL_FROM, PUBLIC_URL }: IdentityConfig): MailSettings | undefined {
  if (SMTP_URL === undefined) return undefined
  if (MAIL_FROM === undefined || PUBLIC_URL === undefined)
    throw wrongConfig('SMTP_URL: MAIL_FROM and PUBLIC_URL have to be set with it')
  return { smtpUrl: SMTP_URL, from: MAIL_FROM, publicUrl: PUBLIC_URL }
}

const PRODUCTION_PASSWORD_LENGTH = 8

const PRODUCTION_FREE_TRIES = 5
const FREE_TRIES = 1_000

/** How many logins of one account in five minutes are not slowed down. */
export function freeLoginTries(config: IdentityConfig): number {
  return config.FREE_LOGIN_TRIES ?? (config.NODE_ENV === 'production' ? PRODUCTION_FREE_TRIES : FREE_TRIES)
}

/** The fewest characters that a new password may have. */
export function minPasswordLength(config: IdentityConfig): number {
  return config.PASSWORD_MIN_LENGTH ?? (config.NODE_ENV === 'production' ? PRODUCTION_PASSWORD_LENGTH : 1)
}
