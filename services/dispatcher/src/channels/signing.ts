import {
  createWebhookSigner,
  derivedSecret,
  ownSecrets,
  type WebhookSigner,
} from '@parley/shared/signing-secret'
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
  const known = new WeakMap<Channel, WebhookSigner[]>()
  const signersOf = (channel: Channel): WebhookSigner[] => {
    const made = known.get(channel) ?? secretsOf(channel, serviceKey).map(createWebhookSigner)
    known.set(channel, made)
    return made
  }
  return {
    headers({ channel, id, payload, at }) {
      const seconds = Math.floor(at.getTime() / 1_000)
      const signatures = signersOf(channel).map((sign) => sign({ id, seconds, payload }))
      return {
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': signatures.join(' '),
      }
    },
  }
}

const MAX_SECRETS = 2

function secretsOf(channel: Channel, serviceKey: string): string[] {
  const own = ownSecrets(channel.config)
  if (own.length > 0) return own.slice(0, MAX_SECRETS)
  return [derivedSecret({ workspace: channel.workspace, channel: channel._id, serviceKey })]
}
