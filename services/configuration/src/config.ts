import { mongoConfig, optionalAmqpConfig, servicesConfig } from '@parley/shared/config'
import { secretKeysConfig } from '@parley/shared/sealed-value'
import type { z } from 'zod'

/** The configuration service's own environment. */
export const config = {
  ...mongoConfig('configuration'),
  ...optionalAmqpConfig('there are no events of changes and no submissions to tasks'),
  ...servicesConfig('identity'),
  ...secretKeysConfig,
}

export type Config = z.output<z.ZodObject<typeof config>>
