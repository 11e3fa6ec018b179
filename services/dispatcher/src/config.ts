import { BlockList, isIP, isIPv6 } from 'node:net'
import { addressRanges } from '@parley/shared/addresses'
import { integer, randomInProduction, safeInProduction, serviceUrls } from '@parley/shared/config'
import { secretKeysConfig } from '@parley/shared/sealed-value'
import { amqpUrl, redisUrl } from '@parley/shared/server-url'
import { z } from 'zod'

const base64Key = z.base64().refine((text) => Buffer.from(text, 'base64').length >= 32, {
  error: 'expected at least 32 bytes in base64',
})

/** As {@link addressRanges}, and single addresses. */
const targetList = z
  .string()
  .transform((text) => text.split(',').map((entry) => asRange(entry.trim())))
  .pipe(z.array(z.string()).transform((ranges) => ranges.join(',')))
  .pipe(addressRanges)
  .default(new BlockList())

const asRange = (entry: string): string =>
  isIP(entry) === 0 ? entry : `${entry}/${isIPv6(entry) ? 128 : 32}`

/** The dispatcher's own environment. */
export const config = {
  MONGO_URL: z.string().min(1).describe('MongoDB, a replica set, without a database name'),
  MONGO_DATABASE: z.string().min(1).default('dispatcher').describe("The service's database"),
  AMQP_URL: amqpUrl.describe(
    'RabbitMQ, with user, password and virtual host; several hosts of a cluster by commas',
  ),
  REDIS_URL: redisUrl.describe(
    'Redis, its Cluster or its Sentinels, where all instances agree on the rate of each number',
  ),
  GATEWAY_URL: serviceUrls('gateway'),
  WEBHOOK_URL: serviceUrls('webhook'),
  IDENTITY_URL: serviceUrls('identity'),
  CONFIGURATION_URL: serviceUrls('configuration'),
  SIGNING_SECRET: safeInProduction(
    base64Key.describe('Key that the signing secrets of channels without their own are derived from'),
    randomInProduction,
  ),
  ...secretKeysConfig,
  UNCERTAIN_WINDOW_SECONDS: integer({ min: 1, max: 3_600 })
    .default(60)
    .describe('How long a send whose answer never came waits for news before it is sent again'),
  ALLOWED_PRIVATE_TARGETS: targetList.describe(
    'Private addresses or CIDR ranges that handlers and callbacks may be at, separated by commas',
  ),
  MESSAGES_KEPT_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('How long a message that has reached its end is kept'),
}

export type Config = z.output<z.ZodObject<typeof config>>
