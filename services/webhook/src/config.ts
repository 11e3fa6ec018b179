import { integer } from '@parley/shared/config'
import { z } from 'zod'

/** The webhook service's own environment. */
export const config = {
  MONGO_URL: z.string().min(1).describe('MongoDB, a replica set, without a database name'),
  MONGO_DATABASE: z.string().min(1).default('webhook').describe("The service's database"),
  AMQP_URL: z.url().describe('RabbitMQ, with user, password and virtual host'),
  REDIS_URL: z.url().describe('Redis, where idempotency keys are remembered'),
  IDENTITY_URL: z.url().describe('The identity service'),
  CONFIGURATION_URL: z.url().describe('The configuration service, which is asked for channels'),
  BODY_TIMEOUT_MS: integer({ min: 100, max: 110_000 })
    .default(30_000)
    .describe('How long a body may take to arrive, in milliseconds'),
}

export type Config = z.output<z.ZodObject<typeof config>>
