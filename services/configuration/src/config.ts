import { type BaseConfig, ConfigError } from '@parley/shared/config'
import type { Keyring } from '@parley/shared/keyring'
import { secretKeyring } from '@parley/shared/sealed-value'
import { z } from 'zod'

/** The configuration service's own environment. */
export const config = {
  MONGO_URL: z.string().min(1).describe('MongoDB replica set, without a database name'),
  MONGO_DATABASE: z.string().min(1).default('configuration').describe('Database of this service'),
  AMQP_URL: z.url().optional().describe('RabbitMQ, which is told of every change; without it nobody is'),
  IDENTITY_URL: z.url().describe('The identity service'),
  SECRET_KEYS: secretKeyring
    .optional()
    .describe(
      'AES-256 keys for the secrets in documents, id:base64[,id:base64…]; the first is current. Required in production',
    ),
}

export type Config = z.output<z.ZodObject<typeof config>>

const DEVELOPMENT_KEY = `development:${Buffer.alloc(32, 'development').toString('base64')}`

/** The keys for secrets; outside production one that everybody knows, when none are set. */
export function secretKeysOf({ SECRET_KEYS, NODE_ENV }: Config & Pick<BaseConfig, 'NODE_ENV'>): Keyring {
  if (SECRET_KEYS !== undefined) return SECRET_KEYS
  if (NODE_ENV === 'production') {
    throw new ConfigError('The configuration is wrong:\n  SECRET_KEYS: is required in production')
  }
  return secretKeyring.parse(DEVELOPMENT_KEY)
}
