import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import type { Quoted } from '../../conversations/quoted-messages.ts'
import { currentMessage } from '../../message/current-message.ts'
import type { MessageRecord, Send } from '../../message/message-record.ts'
import { receivedContent } from '../../message/received-content.ts'
import { isSettled } from '../../message/send-state.ts'
import { isPersonal, textOfContent } from '../../message/spoken-text.ts'
import type { Turn } from '../../message/turn.ts'
import { settledTurns } from '../../message/turn-progress.ts'
import { reasoningOf } from '../model/reasoning.ts'
import type { ConversationItem } from '../model-client.ts'
import { cutText, MAX_CHARACTERS } from '../prompt/texts.ts'
import type { Toolbox } from '../toolbox.ts'
import { withShortResults } from './fit-history.ts'

const AUDIO = '[The person sent audio, which you can not hear.]'
/** Of the results of one message that is being answered: those of its first calls are shortened beyond it. */
const MAX_RESULTS = 128 * 1024
const MAX_MEDIA_TEXT = 4_096
const MAX_WRITER = 100

/** The messages to the person that belong to a message. */
export interface Spoken {
  turns?: Pick<Turn, 'text' | 'calls' | 'provider' | 'model' | 'reasoning'>[]
  sends: Pick<Send, 'content' | 'state' | 'of'>[]
}

/** A message of the conversation, as far as it is needed to tell it. */
type SpokenMessage = Pick<MessageRecord, 'transcript' | 'source' | 'takenOver' | 'changed'> &
  Spoken & {
    /** Undefined where it is too large to be read. */
    message: WebhookMessage | undefined
    /** The message that it replies to. */
    quoted?: Quoted | undefined
  }

/** Returns the items of one message, in order: by the person, then to the person, with the tools that were called. */
export function itemsOf(spoken: SpokenMessage): ConversationItem[] {
  return [...personItems(spoken), ...turnItems(spoken), ...otherSends(spoken)]
}

/**
 * What the person wrote or said, or the business in an app of its own; nothing where the message came from a caller of the
 * API and carries its answer, or only changes another one.
 */
export function personItems(
  spoken: Pick<SpokenMessage, 'message' | 'transcript' | 'source' | 'changed' | 'quoted'>,
): ConversationItem[] {
  const { message: given, changed, source } = spoken
  if (given === undefined) return [{ role: 'person', text: '[A message too long to be repeated.]' }]
  const content = receivedContent(given, source)
  const kind = content?.nature?.kind
  if (kind === 'edit' || kind === 'deletion' || kind === 'contact') return []
  const message = currentMessage(given, changed)
  const isHere = changed?.isDeleted !== true
  const text = isHere ? textOfMessage(message, spoken, content) : '[It was deleted by whoever wrote it.]'
  if (content?.isOwn)
    return [{ role: 'assistant', text: text || `[${content.type ?? 'no text'}]`, calls: [] }]
  const media = content?.media
  const writer = content?.isOfGroup ? `${writerOf(message)}: ` : ''
  if (isHere && media?.kind === 'media' && ['image', 'sticker'].includes(media.type))
    return [{ role: 'person', text: writer + text, image: { source, mediaId: media.mediaId } }]
  return text === '' ? [] : [{ role: 'person', text: writer + text }]
}

/** On one line, so that a name can't pass for what somebody else wrote. */
function writerOf({ user }: WebhookMessage): string {
  const name = user.name?.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_WRITER).toWellFormed()
  return name || 'Somebody'
}

function textOfMessage(
  message: WebhookMessage,
  { transcript, quoted }: Pick<SpokenMessage, 'transcript' | 'quoted'>,
  content: ReceivedContent | undefined,
): string {
  const { input } = message
  const isHeard = content?.media?.type === 'audio' && content.isOwn !== true
  const hasAudio = Boolean(message.audio) || Boolean(message.audioRef) || isHeard
  const said = transcript ?? (!input && hasAudio ? AUDIO : '')
  const parts = [
    input ?? '',
    said,
    shown(content?.text ?? ''),
    quoted === undefined ? '' : textOfQuote(quoted),
  ]
  return cutText(parts.filter((part) => part !== '').join('\n'))
}

/** As JSON text, so that what was written before is no instruction now. */
const textOfQuote = ({ from, text }: Quoted): string =>
  `[In reply to this message of ${from === 'business' ? 'yours' : 'theirs'}: ${JSON.stringify(text)}]`

/** Returns a provider's text about media, up to a length. */
const shown = (text: string): string =>
  text.length <= MAX_MEDIA_TEXT ? text : `${text.slice(0, MAX_MEDIA_TEXT)}…]`

/** Returns a model's turns, each call with its result; for a message being answered, with the reasoning to give back. */
export function turnItems(spoken: Spoken, { isCurrent = false } = {}): ConversationItem[] {
  const items = settledTurns(spoken).flatMap(({ text, calls, ...turn }, position): ConversationItem[] => {
    const made = calls.flatMap(({ result, ...call }) => (result === undefined ? [] : { ...call, result }))
    const said = saidOf(spoken, { text, position })
    return said === '' && text !== '' && made.length === 0
      ? []
      : [{ role: 'assistant', text: said, calls: made, ...(isCurrent && reasoningOf(turn)) }]
  })
  return isCurrent ? withShortResults(items, MAX_RESULTS) : items
}

/**
 * What has left of a turn's text: a person may have taken the thread over before. What failed is left out, so that the
 * model says it again where it matters.
 */
function saidOf({ sends }: Spoken, { text, position }: { text: string; position: number }): string {
  const parts = sends.filter(({ of }) => of?.turn === position && of.call === undefined)
  const left = parts.filter(({ state }) => state !== 'pending' && state !== 'failed')
  return left.length === parts.length ? text : left.flatMap((send) => textOf(send)).join('\n')
}

/** Facts about person, thread and task, for the prompt. */
export function dataItem(data: object): ConversationItem {
  return { role: 'data', json: JSON.stringify(boundedData(data)) }
}

/** The facts, with what the servers of the tools say of these. */
export function withServers(data: object, { instructions = [] }: Pick<Toolbox, 'instructions'>): object {
  return instructions.length === 0 ? data : { ...data, toolServers: instructions }
}

/** The facts, of which each that is too long is its JSON text, cut. */
export function boundedData(data: object): JsonObject {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, cutValue(value)]))
}

/** Texts and templates that no turn has: of callers of the API, of handlers, or said at a bound. */
function otherSends({ sends, message }: SpokenMessage): ConversationItem[] {
  const texts = sends
    .filter((send) => send.of === undefined && isSettled(send) && send.state !== 'failed')
    .flatMap((send) => textOf(send, message))
  return texts.length === 0 ? [] : [{ role: 'assistant', text: cutText(texts.join('\n')), calls: [] }]
}

function textOf(send: Pick<Send, 'content'>, message?: WebhookMessage): string[] {
  return isPersonal(send) ? [textOfContent(send.content, () => message)] : []
}

/** The value, or where its JSON text is too long that text, cut. */
function cutValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? ''
  return json.length <= MAX_CHARACTERS ? value : cutText(json)
}
