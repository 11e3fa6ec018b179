import { type BaseConfig, integer } from '@parley/shared/config'
import { z } from 'zod'

const baseUrl = (service: string) =>
  z
    .url({ protocol: /^https?$/ })
    .transform((text) => new URL(text))
    .describe(`Where the ${service} service answers`)

/** The environment of the gateway. */
export const gatewayConfig = {
  IDENTITY_URL: baseUrl('identity'),
  WEBHOOK_URL: baseUrl('webhook'),
  CONFIGURATION_URL: baseUrl('configuration'),
  DISPATCHER_URL: baseUrl('dispatcher'),
  UPSTREAM_TIMEOUT_MS: integer({ min: 100, max: 110_000 })
    .default(30_000)
    .describe('How long a service may be silent before the caller gets 504, in milliseconds'),
}

export type GatewayConfig = z.output<z.ZodObject<typeof gatewayConfig>> & BaseConfig
