import type { ProviderDescription } from '../provider.ts'
import type { Setting } from '../setting.ts'
import { API, VERSION } from './api.ts'

const CONSOLE = 'Meta for Developers, your app, WhatsApp, Configuration, Webhook'

/** Those that most numbers need; the others are notices for whoever wants them. */
const FIELDS = [
  ...['messages', 'smb_message_echoes', 'history', 'smb_app_state_sync', 'user_preferences'],
  ...['message_template_status_update', 'phone_number_quality_update', 'account_update'],
]

export const description: ProviderDescription = {
  label: 'WhatsApp',
  title: 'A WhatsApp number',
  operator: 'Meta',
  receiving: {
    instructions: [
      'Paste the address and the verify token at Meta (WhatsApp, Configuration, Webhook), and subscribe to ',
      { code: 'messages' },
      '.',
    ],
    hasHandshake: true,
    probe: { 'hub.mode': 'subscribe', 'hub.verify_token': 'doctor', 'hub.challenge': '0' },
    steps: (url) => [
      { where: `${CONSOLE}: Callback URL`, paste: url },
      { where: `${CONSOLE}: Verify token`, paste: "the channel's config.verifyToken" },
      { where: `${CONSOLE}: Webhook fields`, subscribe: FIELDS },
      {
        where: "the channel's config.appSecret",
        paste: 'Meta for Developers, your app, App settings, Basic: App secret',
      },
    ],
  },
}

export const settings: readonly Setting[] = [
  {
    key: 'phoneNumberId',
    label: 'Phone number id',
    kind: 'text',
    note: 'From Meta’s API setup',
    neededTo: 'send',
  },
  {
    key: 'accessToken',
    label: 'Access token',
    kind: 'text',
    note: 'Of a system user that may send messages',
    neededTo: 'send',
    isSecret: true,
    sentTo: 'apiUrl',
    replacing: 'With it messages are sent. Meta makes a new one in the system user’s settings.',
  },
  {
    key: 'verifyToken',
    label: 'Verify token',
    kind: 'text',
    note: 'Any text that is hard to guess; it is pasted at Meta',
    neededTo: 'receive',
    isOptional: true,
    isSecret: true,
    isGenerated: true,
    replacing: 'Asked for once, when the callback URL is set at Meta.',
    missing: 'config.verifyToken is missing: the handshake is refused.',
  },
  {
    key: 'appSecret',
    label: 'App secret',
    kind: 'text',
    note: 'From the app’s basic settings; needed to receive',
    neededTo: 'receive',
    isOptional: true,
    isSecret: true,
    replacing: 'With it Meta signs what it sends here. Reset it at Meta first.',
    missing: 'config.appSecret is missing: what the provider sends is refused.',
  },
  {
    key: 'apiUrl',
    label: 'API address',
    kind: 'url',
    note: 'For a simulator; Meta’s own when left out',
    neededTo: 'send',
    isOptional: true,
    fallback: API,
  },
  {
    key: 'apiVersion',
    label: 'API version',
    kind: 'text',
    note: `Of the Graph API, in the place of that in the address; ${VERSION} when neither has one`,
    neededTo: 'send',
    isOptional: true,
  },
  {
    key: 'businessAccountId',
    label: 'Business account id',
    kind: 'text',
    note: 'Of the WhatsApp business account, whose templates are checked',
    neededTo: 'check',
    isOptional: true,
  },
]
