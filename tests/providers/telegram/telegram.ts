import type { ProviderAddresses } from '@parley/shared/providers/address'
import type { ProviderResponse, SendOutcome } from '@parley/shared/providers/http'
import type { Inbound, PersonMessage, ReceivedMedia, Update } from '@parley/shared/providers/inbound'
import type { Outbound } from '@parley/shared/providers/outbound'
import { own, textAt } from '@parley/shared/providers/own'
import type { Provider } from '@parley/shared/providers/provider'
import type { Settings } from '@parley/shared/providers/setting'

const KIND = 'telegram'
const API = 'https://api.telegram.org'

const addresses: ProviderAddresses = {
  find({ addresses }) {
    const texts = Array.isArray(addresses) ? addresses : []
    const found = texts.find((text) => typeof text === 'string' && /^telegram:-?\d{1,20}$/.test(text))
    return found === undefined ? undefined : { kind: KIND, value: found.slice(KIND.length + 1) }
  },
  missing: "The message's user.addresses has no telegram:<chat id>, so there is nobody to write to.",
}

const inbound: Inbound = {
  source: KIND,
  proof(headers, { webhookSecret: expected }) {
    const given = headers['x-telegram-bot-api-secret-token']
    return {
      kind: 'text',
      given: typeof given === 'string' ? given : undefined,
      expected,
      errors: { wrong: 'secret_wrong', notConfigured: 'webhook_secret_not_configured' },
    }
  },
  updates(payload): Update[] {
    const raw = own(payload, 'message')
    const read = messageOf(raw)
    if (read === undefined) return [{ kind: 'unknown', fate: 'malformed', path: '/message', raw: payload }]
    return [{ kind: 'message', fate: 'accepted', path: '/message', raw, ...read }]
  },
  errors: {
    secret_wrong: "Something came without the channel's config.webhookSecret.",
    webhook_secret_not_configured: 'Something came, but the channel has no config.webhookSecret.',
  },
  foreign: 'foreign_bot',
  contentOf(message) {
    const media = mediaOf(own(message, KIND))
    if (media === undefined) return { text: '' }
    return { type: media.type, media, text: media.kind === 'content' ? '[The person sent a location.]' : '' }
  },
  documentation: {
    name: 'Telegram',
    original: { field: KIND, description: 'The message as Telegram sent it, where it came from there' },
    receive: {
      summary: 'Telegram’s webhook',
      description: 'Each message becomes one message.',
      header: {
        name: 'X-Telegram-Bot-Api-Secret-Token',
        description: 'The channel’s `config.webhookSecret`',
        example: 'a-secret-of-ones-own',
      },
      payload: { description: 'An update of the Bot API', properties: { update_id: { type: 'integer' } } },
      example: { update_id: 1, message: { message_id: 1, chat: { id: 4711 }, text: 'Hello' } },
    },
  },
}

function messageOf(raw: unknown) {
  const number = own(raw, 'message_id')
  const chat = own(raw, 'chat', 'id')
  if (typeof number !== 'number' || typeof chat !== 'number') return undefined
  const name = [textAt(raw, 'from', 'first_name'), textAt(raw, 'from', 'last_name')].filter(Boolean).join(' ')
  const input = textAt(raw, 'text') ?? textAt(raw, 'caption')
  const user = { ...(name !== '' && { name }), addresses: [`${KIND}:${chat}`] }
  const message: PersonMessage = {
    user,
    thread: { extId: `${KIND}:${chat}` },
    answer: {},
    ...(input !== undefined && { input }),
    [KIND]: raw,
  }
  const address = { kind: KIND, value: String(chat) }
  return { id: `${chat}/${number}`, person: { addresses: [address] }, message }
}

function mediaOf(raw: unknown): ReceivedMedia | undefined {
  const photos = own(raw, 'photo')
  const photo = Array.isArray(photos) ? textAt(photos.at(-1), 'file_id') : undefined
  if (photo !== undefined) return { kind: 'media', type: 'image', mediaId: photo }
  for (const [field, type] of [
    ['voice', 'audio'],
    ['video', 'video'],
    ['document', 'document'],
  ] as const) {
    const mediaId = textAt(raw, field, 'file_id')
    if (mediaId !== undefined) return { kind: 'media', type, mediaId }
  }
  const location = own(raw, 'location')
  return location === undefined ? undefined : { kind: 'content', type: 'location', content: location }
}

const outbound: Outbound = {
  reports: false,
  maxText: 4096,
  markup: 'You write in Telegram, as plain text without markup.',
  urlOf: ({ apiUrl }) => apiUrl,
  rates: { keyOf: ({ botToken }) => botToken?.split(':')[0], perSecond: 30 },
  request({ settings, address, content }) {
    if (content.kind !== 'text')
      return {
        kind: 'permanent',
        code: 'no_templates',
        fault: 'caller',
        reason: 'Telegram has texts only, and no templates.',
      }
    return post(settings, 'sendMessage', { chat_id: Number(address?.value), text: content.text })
  },
  outcomeOf,
  errorTextOf: ({ body }) => textAt(parsed(body), 'description'),
  typing: {
    // It is shown for 5 s.
    everyMs: 4_500,
    request({ settings, message }) {
      const chat = own(message, KIND, 'chat', 'id')
      return chat === undefined
        ? undefined
        : post(settings, 'sendChatAction', { chat_id: chat, action: 'typing' })
    },
  },
  media: {
    lookup: (mediaId, settings) => ({
      method: 'GET',
      url: `${urlOf(settings, 'getFile')}?file_id=${encodeURIComponent(mediaId)}`,
      headers: {},
    }),
    locate({ body }, { apiUrl, botToken }) {
      const path = textAt(parsed(body), 'result', 'file_path')
      if (path === undefined) return { kind: 'unknown' }
      return {
        kind: 'found',
        request: { method: 'GET', url: `${apiUrl}/file/bot${botToken}/${path}`, headers: {} },
      }
    },
    isGone: ({ status, body }) => status === 400 && /file/.test(textAt(parsed(body), 'description') ?? ''),
  },
}

const urlOf = ({ apiUrl, botToken }: Settings, method: string) => `${apiUrl}/bot${botToken}/${method}`

function post(settings: Settings, method: string, body: object) {
  return {
    method: 'POST',
    url: urlOf(settings, method),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  } as const
}

function outcomeOf({ status, body: text }: ProviderResponse): SendOutcome {
  const body = parsed(text)
  const id = own(body, 'result', 'message_id')
  if (own(body, 'ok') === true && typeof id === 'number')
    return { kind: 'accepted', providerId: `${own(body, 'result', 'chat', 'id')}/${id}`, delivered: false }
  const failure = {
    code: String(own(body, 'error_code') ?? `http_${status}`),
    fault: 'provider',
    reason: `Telegram answered ${status}.`,
  } as const
  const seconds = own(body, 'parameters', 'retry_after')
  if (typeof seconds === 'number')
    return { kind: 'retryable', ...failure, retryAfterSeconds: seconds, isTooFast: true }
  if (status >= 500) return { kind: 'retryable', ...failure }
  if (status < 300) return { kind: 'uncertain', ...failure }
  return { kind: 'permanent', ...failure, fault: status === 403 ? 'caller' : 'channel' }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const telegram: Provider = {
  name: KIND,
  description: {
    label: 'Telegram',
    title: 'A Telegram bot',
    receiving: {
      instructions: ['Call ', { code: 'setWebhook' }, ' with the address and the secret.'],
      hasHandshake: false,
      steps: (url) => [
        { where: 'setWebhook: url', paste: url },
        { where: 'setWebhook: secret_token', paste: "the channel's config.webhookSecret" },
      ],
    },
  },
  settings: [
    {
      ...{ key: 'botToken', label: 'Bot token', kind: 'text', note: 'From BotFather' },
      ...{ neededTo: 'send', isSecret: true, sentTo: 'apiUrl' },
    },
    {
      ...{ key: 'webhookSecret', label: 'Webhook secret', kind: 'text', note: 'Goes with setWebhook' },
      ...{ neededTo: 'receive', isOptional: true, isSecret: true, isGenerated: true },
      missing: 'config.webhookSecret is missing: what the provider sends is refused.',
    },
    {
      ...{ key: 'apiUrl', label: 'API address', kind: 'url', note: 'For a server of your own' },
      ...{ neededTo: 'send', isOptional: true, fallback: API },
    },
  ],
  addresses,
  inbound,
  outbound,
}
