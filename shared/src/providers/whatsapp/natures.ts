import type { JsonObject } from '../../json-object.ts'
import type { Nature } from '../inbound.ts'
import { own, textAt } from '../own.ts'
import { natureOfType, typeOf } from './message-types.ts'

/** Where a message says in which field of the webhook it came, where that was not `messages`. */
const FIELD = 'webhook_field'
type Field = 'smb_message_echoes' | 'history' | 'smb_app_state_sync'
/** The field for contacts in the app of the business. */
const CONTACT = 'contact'
const SPEECH: Nature = { kind: 'speech' }
/** Meta's names for some of what it does not hand on. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  poll_creation: 'poll',
  poll_update: 'vote in a poll',
  pin: 'pinned message',
  edit: 'edited message',
}
const NO_CONTENT = 131060

/** A message as it is stored, with the field that it came in. */
export const withField = (raw: object, field: Field): JsonObject => ({ ...raw, [FIELD]: field })

/** True when a stored message came in that field of the webhook. */
export const isOfField = (raw: unknown, field: Field): boolean => own(raw, FIELD) === field

/** The nature of a message of Meta's. One that changes an earlier one, and does not say which, is a notice. */
export function natureOf(raw: unknown): Nature {
  const type = typeOf(raw)
  if (type === CONTACT && isOfField(raw, 'smb_app_state_sync'))
    return { kind: 'contact', name: contactName(raw) }
  if (type === undefined) return notice(cannotBeShown('message'))
  switch (natureOfType(raw, type)) {
    case 'speech':
      return SPEECH
    case 'change':
      return changeOf(raw, type) ?? notice(cannotBeShown(type))
    case 'notice':
      return notice(shownOf(raw, type))
  }
}

const notice = (shown: string): Nature => ({ kind: 'notice', shown })
const cannotBeShown = (what: string): string => `can't be shown here: ${what}`

function changeOf(raw: unknown, type: string): Nature | undefined {
  if (type === 'reaction') return { kind: 'reaction' }
  const of = textAt(raw, type, 'original_message_id')
  if (of === undefined) return undefined
  return type === 'revoke'
    ? { kind: 'deletion', of }
    : { kind: 'edit', of, text: inputOf(own(raw, type, 'message')) ?? '' }
}

/** The name of a contact; none for somebody who was removed from the contacts. */
function contactName(raw: unknown): string | undefined {
  if (textAt(raw, 'action') === 'remove') return undefined
  return textAt(raw, CONTACT, 'full_name') ?? textAt(raw, CONTACT, 'first_name')
}

function shownOf(raw: unknown, type: string): string {
  const withheld = withheldOf(raw)
  if (withheld !== undefined) return cannotBeShown(withheld)
  switch (type) {
    case 'system':
      return textAt(raw, type, 'body') ?? 'something about the person has changed'
    case 'request_welcome':
      return 'the person has opened the chat'
    default:
      return `the person ${mayCall(raw) ? 'allows' : 'does not allow'} calls`
  }
}

/** The notices that say what has happened; all others are of something that Meta does not hand on, or that is not known. */
const EVENTS = ['system', 'request_welcome', 'interactive']

/** The name of something sent that can't be shown; undefined where a notice says what has happened. */
export function withheldOf(raw: unknown): string | undefined {
  const type = typeOf(raw) ?? 'message'
  if (EVENTS.includes(type)) return undefined
  return type === 'media_placeholder' ? 'media' : (unsupportedType(raw) ?? type.replaceAll('_', ' '))
}

const mayCall = (raw: unknown): boolean =>
  textAt(raw, 'interactive', 'call_permission_reply', 'response') === 'accept'

/** The type that it would have been. */
function unsupportedType(raw: unknown): string | undefined {
  const type = textAt(raw, 'unsupported', 'type')
  if (type !== undefined && type !== 'unknown')
    return (Object.hasOwn(UNSUPPORTED, type) && UNSUPPORTED[type]) || type.replaceAll('_', ' ')
  const errors = own(raw, 'errors')
  const isWithheld = Array.isArray(errors) && errors.some((error) => own(error, 'code') === NO_CONTENT)
  return isWithheld ? 'a message that is not available' : undefined
}

const INPUTS: Record<string, string[][]> = {
  text: [['text', 'body']],
  button: [['button', 'text']],
  interactive: [
    ['interactive', 'button_reply', 'title'],
    ['interactive', 'list_reply', 'title'],
    ['interactive', 'nfm_reply', 'body'],
  ],
  reaction: [['reaction', 'emoji']],
  order: [['order', 'text']],
}

/** The text that somebody wrote or chose; undefined where it was neither. */
export function inputOf(raw: unknown): string | undefined {
  const type = typeOf(raw) ?? ''
  const paths = Object.hasOwn(INPUTS, type) ? (INPUTS[type] ?? []) : [[type, 'caption']]
  for (const path of paths) {
    const text = own(raw, ...path)
    if (typeof text === 'string') return text
  }
  return undefined
}
