import { randomInProduction, safeInProduction } from './config.ts'
import type { Keyring } from './keyring.ts'
import { secretKeyring } from './sealed-value.ts'

/** The key of the environment that a service needs which stores or opens secrets of documents. */
export const secretKeysConfig = {
  SECRET_KEYS: safeInProduction(
    secretKeyring
      .optional()
      .describe(
        'AES-256 keys for the secrets in documents, id:base64[,id:base64…]; the first is current. Required in production',
      ),
    randomInProduction,
  ),
}

const DEVELOPMENT_KEY = `development:${Buffer.alloc(32, 'development').toString('base64')}`

/** The keys for secrets; outside production one that everybody knows, when none are set. */
export function secretKeysOf({ SECRET_KEYS }: { SECRET_KEYS?: Keyring | undefined }): Keyring {
  return SECRET_KEYS ?? secretKeyring.parse(DEVELOPMENT_KEY)
}
