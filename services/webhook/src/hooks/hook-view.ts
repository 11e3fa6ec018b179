import { canBeSegment } from '@parley/shared/path-segment'
import type { Inbound } from '@parley/shared/providers/inbound'
import type { Provider, SetupStep } from '@parley/shared/providers/provider'
import { allProviders, providerNamed, usualProvider } from '@parley/shared/providers/registry'
import type { SecretBox } from '@parley/shared/sealed-value'
import { derivedSecret, ownSecrets } from '@parley/shared/signing-secret'
import { type Channel, receiveSettings } from '../channels.ts'
import type { HookNotes } from '../database.ts'

interface HookViewOptions {
  channel: Channel
  notes: HookNotes | undefined
  /** Where callers reach the gateway, without a path. */
  origin: string
  slug: string
  /** True when the caller may write the channel, and so may see what signs its callbacks. */
  writable: boolean
  /** Opens secrets, where they come sealed. */
  box: Pick<SecretBox, 'open'>
  /** The secret that signing secrets are derived from; undefined when this service was not given it. */
  signingSecret: string | undefined
}

/** A channel's webhook as its people see it: where the provider sends to, what to paste where, how it goes. */
export function hookView(options: HookViewOptions): object {
  const { channel, notes, writable } = options
  const url = urlOf(options)
  return {
    channel: { _id: channel._id, name: channel.name, extId: channel.extId, hook: channel.hook },
    url,
    setup: setupOf(channel, url),
    problems: problemsOf(options, url),
    handshake: { succeeded: notes?.handshakeAt !== undefined, at: notes?.handshakeAt ?? null },
    lastReceivedAt: notes?.receivedAt ?? null,
    lastError: notes?.lastError === undefined ? null : errorView(channel, notes.lastError),
    ...(writable ? { signingSecret: signingSecretOf(options) } : {}),
  }
}

/** The address has the provider's name; that of a channel which no provider sends to, for what is yet to be set up. */
function urlOf({ channel, origin, slug }: HookViewOptions): string | null {
  if (!canBeSegment(channel.extId)) return null
  const { name } = senderOf(channel) ?? usualProvider()
  return `${origin}/api/hooks/${name}/${slug}/${encodeURIComponent(channel.extId)}`
}

/** The provider that sends to a channel; undefined where none does. */
function senderOf({ hook }: Channel): (Provider & { inbound: Inbound }) | undefined {
  const provider = providerNamed(hook)
  return provider?.inbound && { ...provider, inbound: provider.inbound }
}

function setupOf(channel: Channel, url: string | null): readonly SetupStep[] {
  const receiving = senderOf(channel)?.description.receiving
  return url === null || receiving === undefined ? [] : receiving.steps(url)
}

function problemsOf({ channel, box }: HookViewOptions, url: string | null): string[] {
  const provider = senderOf(channel)
  if (provider === undefined) return []
  const settings = receiveSettings(channel, provider, box)
  return [
    ...(url === null ? ['An extId with a slash, a backslash or control characters has no address.'] : []),
    ...provider.settings.flatMap(({ key, missing }) =>
      missing !== undefined && settings[key] === undefined ? [missing] : [],
    ),
  ]
}

const SKIPPED =
  'Some messages or statuses were left out: they could not be read, or an id had over 1,024 characters.'

function errorView(channel: Channel, { at, code }: NonNullable<HookNotes['lastError']>): object {
  // A note may be of the provider that the channel had before.
  const known = [senderOf(channel), ...allProviders()].map((provider) => provider?.inbound?.errors[code])
  const message = code === 'updates_skipped' ? SKIPPED : known.find((text) => text !== undefined)
  return { at, code, message: message ?? code }
}

/** The channel's own secrets are read from the channel; the derived one is shown only here. */
function signingSecretOf({ channel, signingSecret: serviceKey }: HookViewOptions): object | null {
  if (ownSecrets(channel.config).length > 0) return { source: 'channel' }
  if (serviceKey === undefined) return null
  const value = derivedSecret({ workspace: channel.workspace, channel: channel._id, serviceKey })
  return { source: 'derived', value }
}
