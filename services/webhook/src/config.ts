import { z } from 'zod'

/** The webhook service's own environment. */
export const config = {
  AMQP_URL: z.url().describe('RabbitMQ, with user, password and virtual host'),
  REDIS_URL: z.url().describe('Redis, where idempotency keys are remembered'),
  IDENTITY_URL: z.url().describe('The identity service'),
}

export type Config = z.output<z.ZodObject<typeof config>>
