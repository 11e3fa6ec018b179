import {
  amqpConfig,
  bodyTimeoutConfig,
  mongoConfig,
  publicUrlConfig,
  randomInProduction,
  redisConfig,
  safeInProduction,
  servicesConfig,
} from '@parley/shared/config'
import { lingerConfig } from '@parley/shared/group'
import { secretKeysConfig } from '@parley/shared/sealed-value'
import { signingSecretKey } from '@parley/shared/signing-secret'
import type { z } from 'zod'

/** The webhook service's own environment. */
export const config = {
  ...lingerConfig,
  ...mongoConfig('webhook'),
  ...amqpConfig,
  ...redisConfig('where idempotency keys are remembered'),
  ...servicesConfig('identity', 'configuration'),
  ...publicUrlConfig('without it, webhooks are shown at the address that the request came to'),
  SIGNING_SECRET: safeInProduction(
    signingSecretKey
      .optional()
      .describe("The dispatcher's key for signing secrets, so that they can be shown"),
    (text) => (text === undefined ? undefined : randomInProduction(text)),
  ),
  ...secretKeysConfig,
  ...bodyTimeoutConfig(),
}

export type Config = z.output<z.ZodObject<typeof config>>
