import { canBeSegment } from '@parley/shared/path-segment'
import type { SecretBox } from '@parley/shared/sealed-value'
import { derivedSecret, ownSecrets } from '@parley/shared/signing-secret'
import { type Channel, configText } from '../channels.ts'
import type { HookNotes } from '../database.ts'

interface HookViewOptions {
  channel: Channel
  notes: HookNotes | undefined
  /** Where callers reach the gateway, without a path. */
  origin: string
  slug: string
  /** Whether the caller may write the channel, and so may see what signs its callbacks. */
  writable: boolean
  /** Opens secrets, where they come sealed. */
  box: Pick<SecretBox, 'open'>
  /** What derived signing secrets come from; undefined when this service was not given it. */
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
    lastError: notes?.lastError === undefined ? null : errorView(notes.lastError),
    ...(writable ? { signingSecret: signingSecretOf(options) } : {}),
  }
}

function urlOf({ channel, origin, slug }: HookViewOptions): string | null {
  if (!canBeSegment(channel.extId)) return null
  return `${origin}/api/hooks/whatsapp/${slug}/${encodeURIComponent(channel.extId)}`
}

function setupOf(channel: Channel, url: string | null): object[] {
  if (channel.hook !== 'whatsapp' || url === null) return []
  const at = 'Meta for Developers, your app, WhatsApp, Configuration, Webhook'
  return [
    { where: `${at}: Callback URL`, paste: url },
    { where: `${at}: Verify token`, paste: "the channel's config.verifyToken" },
    { where: `${at}: Webhook fields`, subscribe: ['messages'] },
    {
      where: "the channel's config.appSecret",
      paste: 'Meta for Developers, your app, App settings, Basic: App secret',
    },
  ]
}

function problemsOf({ channel, box }: HookViewOptions, url: string | null): string[] {
  const isSet = (key: 'verifyToken' | 'appSecret') => configText(channel, key, box) !== undefined
  if (channel.hook !== 'whatsapp') return []
  return [
    ...(url === null ? ['An extId with a slash, a backslash or control characters has no address.'] : []),
    ...(isSet('verifyToken') ? [] : ['config.verifyToken is missing: the handshake is refused.']),
    ...(isSet('appSecret') ? [] : ['config.appSecret is missing: what the provider sends is refused.']),
  ]
}

const MEANINGS = {
  verify_token_wrong: "The verify token was not the channel's config.verifyToken.",
  verify_token_not_configured: 'The provider asked, but the channel has no config.verifyToken.',
  signature_wrong: "Something came that was not signed with the channel's config.appSecret.",
  updates_skipped:
    'Some messages or statuses were left out: they could not be read, or an id had over 1,024 characters.',
  foreign_number:
    "Some messages were left out: they were written to another number than the channel's config.phoneNumberId.",
  app_secret_not_configured: 'Something came, but the channel has no config.appSecret.',
}

function errorView({ at, code }: NonNullable<HookNotes['lastError']>): object {
  return { at, code, message: MEANINGS[code] }
}

/** The channel's own secrets are read from the channel; the derived one is shown only here. */
function signingSecretOf({ channel, signingSecret: serviceKey }: HookViewOptions): object | null {
  if (ownSecrets(channel.config).length > 0) return { source: 'channel' }
  if (serviceKey === undefined) return null
  const value = derivedSecret({ workspace: channel.workspace, channel: channel._id, serviceKey })
  return { source: 'derived', value }
}
