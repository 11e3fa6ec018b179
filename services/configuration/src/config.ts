import { serviceUrls } from '@parley/shared/config'
import { secretKeysConfig } from '@parley/shared/sealed-value'
import { amqpUrl } from '@parley/shared/server-url'
import { z } from 'zod'

/** The configuration service's own environment. */
export const config = {
  MONGO_URL: z.string().min(1).describe('MongoDB replica set, without a database name'),
  MONGO_DATABASE: z.string().min(1).default('configuration').describe('Database of this service'),
  AMQP_URL: amqpUrl
    .optional()
    .describe(
      'RabbitMQ: gets an event for every change, and delivers submissions to tasks; without it neither',
    ),
  IDENTITY_URL: serviceUrls('identity'),
  ...secretKeysConfig,
}

export type Config = z.output<z.ZodObject<typeof config>>
