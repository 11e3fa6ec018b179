import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Channel } from './channels.ts'

export interface Signer {
  /** The Standard Webhooks headers for a payload; one signature for each of the channel's secrets. */
  headers(options: { channel: Channel; id: string; payload: string; at: Date }): Record<string, string>
}

/**
 * Signs what goes to a channel's handler and callback (Standard Webhooks): with the channel's own
 * `signingSecrets` (one or two), else with a secret derived for the channel from the service's key.
 */
export function createSigner(serviceKey: string): Signer {
  return {
    headers({ channel, id, payload, at }) {
      const signatures = secretsOf(channel, serviceKey).map((secret) =>
        new Webhook(secret).sign(id, at, payload),
      )
      return {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signatures.join(' '),
      }
    },
  }
}

const MAX_SECRETS = 2

function secretsOf(channel: Channel, serviceKey: string): string[] {
  const own = channel.config.signingSecrets
  const usable = Array.isArray(own) ? own.filter((secret) => typeof secret === 'string' && secret !== '') : []
  if (usable.length > 0) return usable.slice(0, MAX_SECRETS)
  return [derivedSecret({ workspace: channel.workspace, channel: channel._id, serviceKey })]
}

/** The signing secret of a channel that has none of its own, in Standard Webhooks' form. */
export function derivedSecret(options: { workspace: number; channel: number; serviceKey: string }): string {
  const { workspace, channel, serviceKey } = options
  const key = Buffer.from(serviceKey, 'base64')
  const secret = createHmac('sha256', key).update(`signing-secret\0${workspace}\0${channel}`).digest('base64')
  return `whsec_${secret}`
}
