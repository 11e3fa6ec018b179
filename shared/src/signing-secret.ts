import { createHmac } from 'node:crypto'
import { z } from 'zod'

const MIN_KEY_BYTES = 32

/** The key of the environment that {@link derivedSecret} takes: at least 32 bytes in base64. */
export const signingSecretKey = z
  .base64()
  .refine((text) => Buffer.from(text, 'base64').length >= MIN_KEY_BYTES, {
    error: `expected at least ${MIN_KEY_BYTES} bytes in base64`,
  })

/**
 * The signing secret of a channel that has none of its own, in Standard Webhooks' form. `serviceKey` is the key
 * of the environment (base64) that all of them come from.
 */
export function derivedSecret(options: { workspace: number; channel: number; serviceKey: string }): string {
  const { workspace, channel, serviceKey } = options
  const key = Buffer.from(serviceKey, 'base64')
  const secret = createHmac('sha256', key).update(`signing-secret\0${workspace}\0${channel}`).digest('base64')
  return `whsec_${secret}`
}

/** The texts in a channel's own `signingSecrets`; it may have none. */
export function ownSecrets(config: Record<string, unknown>): string[] {
  const own = Object.hasOwn(config, 'signingSecrets') ? config.signingSecrets : undefined
  return Array.isArray(own) ? own.filter((secret) => typeof secret === 'string' && secret !== '') : []
}
