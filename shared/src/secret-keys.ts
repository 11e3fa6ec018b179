import { type BaseConfig, ConfigError } from './config.ts'
import type { Keyring } from './keyring.ts'
import { secretKeyring } from './sealed-value.ts'

/** The key of the environment that a service needs which stores or opens secrets of documents. */
export const secretKeysConfig = {
  SECRET_KEYS: secretKeyring
    .optional()
    .describe(
      'AES-256 keys for the secrets in documents, id:base64[,id:base64…]; the first is current. Required in production',
    ),
}

const DEVELOPMENT_KEY = `development:${Buffer.alloc(32, 'development').toString('base64')}`

/** The keys for secrets; outside production one that everybody knows, when none are set. */
export function secretKeysOf({
  SECRET_KEYS,
  NODE_ENV,
}: { SECRET_KEYS?: Keyring | undefined } & Pick<BaseConfig, 'NODE_ENV'>): Keyring {
  if (SECRET_KEYS !== undefined) return SECRET_KEYS
  if (NODE_ENV === 'production') {
    throw new ConfigError('The configuration is wrong:\n  SECRET_KEYS: is required in production')
  }
  return secretKeyring.parse(DEVELOPMENT_KEY)
}
