import { integer } from '@parley/shared/config'
import { z } from 'zod'

/** The model simulator's environment. */
export const config = z.object({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
  PORT: integer({ min: 0, max: 65_535 }).describe('Port to listen on; 0 takes a free one'),
})
