import { mongoConfig, optionalAmqpConfig, servicesConfig } from '@parley/shared/config'
import type { z } from 'zod'

/** The campaigns service's own environment. */
export const config = {
  ...mongoConfig('campaigns'),
  ...optionalAmqpConfig('people are not made by their first message'),
  ...servicesConfig('identity', 'configuration', 'dispatcher', 'webhook'),
}

export type Config = z.output<z.ZodObject<typeof config>>
