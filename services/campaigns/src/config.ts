import { integer, mongoConfig, optionalAmqpConfig, servicesConfig } from '@parley/shared/config'
import type { z } from 'zod'

/** The campaigns service's own environment. */
export const config = {
  ...mongoConfig('campaigns'),
  ...optionalAmqpConfig('people are not made by their first message'),
  IMPORT_MAX_BYTES: integer({ min: 1_024, max: 64 * 1024 ** 3 })
    .default(1024 ** 3)
    .describe('How large a file of people may be'),
  ...servicesConfig('identity', 'configuration', 'dispatcher', 'webhook'),
}

export type Config = z.output<z.ZodObject<typeof config>>
