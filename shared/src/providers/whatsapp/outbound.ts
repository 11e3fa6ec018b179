import type { ProviderRequest } from '../http.ts'
import type { Outbound, ProviderContent, ProviderSend } from '../outbound.ts'
import { textAt } from '../own.ts'
import type { Settings } from '../setting.ts'
import { account } from './account.ts'
import { GROUP } from './addresses.ts'
import { addressOf } from './api.ts'
import { advice, outcomeOfCode } from './codes.ts'
import { toMarkup } from './markup.ts'
import { media } from './media.ts'
import { objects } from './objects.ts'
import { errorTextOf, outcomeOf } from './outcome.ts'
import { personInResponse } from './persons.ts'
import { rates } from './rates.ts'
import { standing } from './standing.ts'

/** The longest text that the Cloud API takes in one message, in characters. */
const MAX_TEXT = 4096
const MAX_ID_CHARACTERS = 512

/** Sends through Meta's WhatsApp Cloud API (POST /{phoneNumberId}/messages). */
export const outbound: Outbound = {
  reports: true,
  maxText: MAX_TEXT,
  serviceWindowMs: 24 * 60 * 60 * 1_000,
  markup:
    'You write in WhatsApp. Its markup: *bold*, _italic_, ~struck through~, ```monospaced```, lines that begin with "- " ' +
    'or "1. " for lists, and "> " for quotations. It has no headings, tables or named links: write a URL as it is.',
  toMarkup,
  objects,
  urlOf: sendUrl,
  rates,
  request: (send) => post(send.settings, bodyOf(send)),
  outcomeOf,
  outcomeOfCode,
  personOf: personInResponse,
  errorTextOf,
  advice,
  idPrefix: 'wamid.',
  typing: {
    // It is shown for 25 s, or until a message comes: by the read receipt of the message that is worked.
    everyMs: 20_000,
    request({ settings, message }) {
      const id = textAt(message, 'meta', 'id')
      // In groups nothing is marked as read.
      const isOfGroup = textAt(message, 'meta', 'group_id') !== undefined
      if (id === undefined || id.length > MAX_ID_CHARACTERS || isOfGroup) return undefined
      return post(settings, {
        messaging_product: 'whatsapp',
        status: 'read',
        message_id: id,
        typing_indicator: { type: 'text' },
      })
    },
  },
  media,
  standing,
  account,
}

function post(settings: Settings, body: object): ProviderRequest {
  return {
    method: 'POST',
    url: sendUrl(settings),
    headers: { authorization: `Bearer ${settings.accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

function sendUrl(settings: Settings): string {
  return addressOf(settings, `${encodeURIComponent(settings.phoneNumberId ?? '')}/messages`)
}

function bodyOf({ content, address, id }: ProviderSend): object {
  return {
    ...contentOf(content),
    messaging_product: 'whatsapp',
    ...recipientOf(address),
    biz_opaque_callback_data: id,
  }
}

/** A group, a person by number, or by id alone; undefined takes the place of what a message object might name. */
function recipientOf(address: ProviderSend['address']): object {
  switch (address?.kind) {
    case GROUP:
      return { recipient_type: 'group', to: address.value, recipient: undefined }
    case 'phone':
      return { recipient_type: 'individual', to: address.value, recipient: undefined }
    default:
      return { recipient_type: undefined, to: undefined, recipient: address?.value }
  }
}

function contentOf(content: ProviderContent): object {
  if (content.kind === 'object') return content.object
  if (content.kind === 'text') return { type: 'text', text: { body: content.text } }
  const { template, language, variables } = content
  const parameters = variables.map((text) => ({ type: 'text', text }))
  const components = parameters.length > 0 ? [{ type: 'body', parameters }] : []
  return { type: 'template', template: { name: template, language: { code: language }, components } }
}
