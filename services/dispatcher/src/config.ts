import { BlockList, isIP, isIPv6 } from 'node:net'
import { addressRanges } from '@parley/shared/addresses'
import {
  amqpConfig,
  integer,
  mongoConfig,
  randomInProduction,
  redisConfig,
  safeInProduction,
  servicesConfig,
} from '@parley/shared/config'
import { lingerConfig } from '@parley/shared/group'
import { MAX_PARTITIONS } from '@parley/shared/messaging/layout'
import { secretKeysConfig } from '@parley/shared/sealed-value'
import { withoutTrailingSlashes } from '@parley/shared/server-url'
import { signingSecretKey } from '@parley/shared/signing-secret'
import { z } from 'zod'

/** As {@link addressRanges}, and single addresses. */
const targetList = z
  .string()
  .transform((text) => text.split(',').map((entry) => asRange(entry.trim())))
  .pipe(z.array(z.string()).transform((ranges) => ranges.join(',')))
  .pipe(addressRanges)
  .default(new BlockList())

const asRange = (entry: string): string =>
  isIP(entry) === 0 ? entry : `${entry}/${isIPv6(entry) ? 128 : 32}`

export const partitionsConfig = integer({ min: 1, max: MAX_PARTITIONS })

/** The dispatcher's own environment. */
export const config = {
  ...lingerConfig,
  ...mongoConfig('dispatcher'),
  ...amqpConfig,
  ...redisConfig('where all instances agree on the rate of each number'),
  ...servicesConfig('gateway', 'webhook', 'identity', 'configuration'),
  SIGNING_SECRET: safeInProduction(
    signingSecretKey.describe('Key that the signing secrets of channels without their own are derived from'),
    randomInProduction,
  ),
  ...secretKeysConfig,
  PARTITIONS: partitionsConfig
    .default(16)
    .describe(
      'How many partitions of messages a system gets when it is first started; more dispatchers than that have nothing to do. Powers of two share evenly. Of a live one it is changed by `node services/dispatcher/src/change-partitions.ts NUMBER`',
    ),
  INSTANCE_NAME: z
    .string()
    .regex(/^[\w.-]{1,128}$/)
    .optional()
    .describe(
      'What this instance is called also after a restart, such as the name of its pod: it then takes up its partitions within some 3 s of its end, not 10. No two instances that run at the same time may have the same one',
    ),
  UNCERTAIN_WINDOW_SECONDS: integer({ min: 1, max: 3_600 })
    .default(60)
    .describe('How long a send whose answer never came waits for news before it is sent again'),
  ALLOWED_PRIVATE_TARGETS: targetList.describe(
    'Private addresses or CIDR ranges that handlers and callbacks may be at, separated by commas',
  ),
  MODEL_PROVIDER: z
    .enum(['openai', 'anthropic', 'google', 'openai-compatible'])
    .optional()
    .describe('Whose model answers for assistants that have no config `model` of their own'),
  MODEL_NAME: z.string().min(1).optional().describe("That model's name; required with MODEL_PROVIDER"),
  MODEL_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform(withoutTrailingSlashes)
    .optional()
    .describe(
      "Where its API is, such as http://models:8000/v1; the provider's own when not set. A private address must be in " +
        'ALLOWED_PRIVATE_TARGETS',
    ),
  MODEL_API_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Its API key; it goes to this provider and base URL only, never to what a workspace names'),
  MODEL_REASONING: z
    .enum(['true', 'false'])
    .default('true')
    .describe(
      'false for a model whose text has no thoughts: behind a MODEL_BASE_URL only such a one is streamed token by token',
    ),
  MODEL_TOKENS_PER_DAY: integer({ min: 1_000, max: 1_000_000_000_000 })
    .default(500_000)
    .describe(
      'How many tokens one workspace may use of that model in a day (UTC), input and output together; one person who writes ' +
        'to it a quarter of them. What assistants use with keys of their own is not bounded by it',
    ),
  MESSAGES_KEPT_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('How long a message that has reached its end is kept'),
}

export type Config = z.output<z.ZodObject<typeof config>>
