import type { WebhookMessage } from '@parley/shared/message'
import { addressText, ownAddresses } from '@parley/shared/providers/address'
import type { Channel } from '../channels/channels.ts'
import type { Signer } from '../channels/signing.ts'

/** Longer texts of a person are left out of it: a header has some kilobytes at most. */
const MAX_CHARACTERS = 512
const NOT_ASCII = /[^\x20-\x7e]/g

/** A call that a model makes because of a message. */
interface ToolCall {
  channel: Channel
  messageId: string
  message: WebhookMessage
  action: { _id: number }
  operationId: string
}

/**
 * Whom a call is for, as the header `parley-context` (JSON in ASCII), signed like what goes to the channel's handler: over
 * the header's value. `id` is the call's idempotency key.
 */
export function contextHeaders(signer: Signer, call: ToolCall, id: string): Record<string, string> {
  const { channel, messageId, message, action, operationId } = call
  const { name, phone, email } = message.user
  const addresses = ownAddresses(message.user).map(addressText)
  const user = { name: shortText(name), phone: shortText(phone), email: shortText(email), addresses }
  const context = {
    ...{ id, messageId, workspace: channel.workspace, channel: channel._id },
    ...{ extId: shortText(message.extId), user, thread: { extId: shortText(message.thread.extId) } },
    ...{ action: action._id, operationId },
  }
  const payload = JSON.stringify(context).replaceAll(NOT_ASCII, escaped)
  return { ...signer.headers({ channel, id, payload, at: new Date() }), 'parley-context': payload }
}

const shortText = (text: string | null | undefined): string | undefined =>
  typeof text === 'string' && text.length <= MAX_CHARACTERS ? text : undefined

const escaped = (unit: string): string =>
  [...Array(unit.length).keys()]
    .map((at) => `\\u${unit.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
