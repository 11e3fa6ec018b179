import { own, textAt } from '../own.ts'

/** The nature of each type of message: a model may be asked, an earlier message is another one, or nobody said anything. */
type MessageType = { nature: 'speech' } | { nature: 'change' | 'notice'; description: string }
const SPEECH = { nature: 'speech' } as const

/**
 * The types of Meta's messages. What has a type of its own inside of another stands behind a slash; what is not among
 * them is a notice.
 */
export const MESSAGE_TYPES: Readonly<Record<string, MessageType>> = {
  text: SPEECH,
  image: SPEECH,
  audio: SPEECH,
  video: SPEECH,
  document: SPEECH,
  sticker: SPEECH,
  location: SPEECH,
  contacts: SPEECH,
  button: SPEECH,
  interactive: SPEECH,
  order: SPEECH,
  reaction: {
    nature: 'change',
    description: 'An emoji, or none any more; it asks nobody unless the channel has `config.answerReactions`',
  },
  edit: { nature: 'change', description: 'An earlier message has another text' },
  revoke: { nature: 'change', description: 'An earlier message was deleted' },
  'interactive/call_permission_reply': { nature: 'notice', description: 'Whether the business may call' },
  'system/user_changed_number': { nature: 'notice', description: 'The person has another number' },
  'system/user_changed_user_id': { nature: 'notice', description: 'The person has another id' },
  'system/customer_identity_changed': { nature: 'notice', description: 'The person has another device' },
  system: { nature: 'notice', description: 'Anything else that happened to the person' },
  request_welcome: { nature: 'notice', description: 'The person has opened the chat for the first time' },
  unsupported: {
    nature: 'notice',
    description: 'Something that Meta does not hand on, such as a poll or what can be seen once',
  },
  media_placeholder: { nature: 'notice', description: 'Media of before the number was connected' },
}

const names = Object.keys(MESSAGE_TYPES)

/** The type of a message; where it names none, by its content. */
export function typeOf(raw: unknown): string | undefined {
  return textAt(raw, 'type') ?? names.find((name) => own(raw, name) !== undefined)
}

/** The nature of a message of this type. */
export function natureOfType(raw: unknown, type: string): MessageType['nature'] {
  const inner = `${type}/${textAt(raw, type, 'type')}`
  const key = [inner, type].find((name) => Object.hasOwn(MESSAGE_TYPES, name))
  return (key === undefined ? undefined : MESSAGE_TYPES[key])?.nature ?? 'notice'
}
