import { integer, randomInProduction, safeInProduction, serviceUrls } from '@parley/shared/config'
import { secretKeysConfig } from '@parley/shared/sealed-value'
import { amqpUrl, redisUrl, withoutTrailingSlashes } from '@parley/shared/server-url'
import { z } from 'zod'

/** The webhook service's own environment. */
export const config = {
  MONGO_URL: z.string().min(1).describe('MongoDB, a replica set, without a database name'),
  MONGO_DATABASE: z.string().min(1).default('webhook').describe("The service's database"),
  AMQP_URL: amqpUrl.describe(
    'RabbitMQ, with user, password and virtual host; several hosts of a cluster by commas',
  ),
  REDIS_URL: redisUrl.describe('Redis, its Cluster or its Sentinels, where idempotency keys are remembered'),
  IDENTITY_URL: serviceUrls('identity'),
  CONFIGURATION_URL: serviceUrls('configuration'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform(withoutTrailingSlashes)
    .optional()
    .describe('Where providers reach the gateway; without it what the request came to'),
  SIGNING_SECRET: safeInProduction(
    z
      .base64()
      .min(1)
      .optional()
      .describe("The dispatcher's key for signing secrets, so that they can be shown"),
    (text) => (text === undefined ? undefined : randomInProduction(text)),
  ),
  ...secretKeysConfig,
  BODY_TIMEOUT_MS: integer({ min: 100, max: 110_000 })
    .default(30_000)
    .describe('How long a body may take to arrive, in milliseconds'),
}

export type Config = z.output<z.ZodObject<typeof config>>
