import { defined } from '@parley/shared/defined'
import { CAMPAIGN_SOURCE, type WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { addressesIn } from '../message/addresses.ts'
import { currentMessage } from '../message/current-message.ts'
import type { Changed, MessageRecord, Send } from '../message/message-record.ts'
import { REPLAYABLE as UNANSWERED } from '../message/progress.ts'
import { receivedContent } from '../message/received-content.ts'
import { phoneEnds, searchWords } from '../message/search-words.ts'
import { isSettled } from '../message/send-state.ts'
import { isPersonal, mediaOf, type PersonalSend, sentAt, textOfContent } from '../message/spoken-text.ts'
import {
  type ThreadCampaign,
  type ThreadRecord,
  type ThreadUser,
  UNREAD_REASONS,
  type UnreadFor,
} from '../message/thread-record.ts'

const MAX_SHOWN = 200
const MAX_FIELD = 1_024

/** A message's contribution to its thread: the part of the thread's document that is written behind its messages. */
export type Activity = Pick<
  ThreadRecord,
  'lastMessage' | 'lastAt' | 'addresses' | 'phoneEnds' | 'words' | 'campaign'
> & {
  user: ThreadUser
}

/** The part of a message that is kept until its thread is written. The whole of it is several times as large. */
export interface Excerpt {
  /** When something last happened in it that a list of threads shows. */
  at: Date
  body: string
  changed: Changed | undefined
  source: string
  /** The last text that was sent to the person; undefined where there was none. */
  sent: string | undefined
  transcript: string | undefined
  addresses: string[] | undefined
}

export function excerptOf(record: MessageRecord): Excerpt {
  const { sends, body, changed, source, transcript, receivedAt } = record
  const addresses = addressesIn(record)
  const settled = sends.findLast(isSentToPerson)
  const send = settled ?? (record.inbound === true ? undefined : sends.findLast(isPersonal))
  const sent = send && shown(textOfContent(send.content, () => messageIn({ body })))
  const settledAt = settled && sentAt(record, settled)
  const at = settledAt !== undefined && settledAt > receivedAt ? settledAt : receivedAt
  return { at, body, changed, source, sent, transcript, addresses }
}

const isSentToPerson = (send: Send): send is PersonalSend => isPersonal(send) && isSettled(send)

/** True if the message as it stands changes what a list of threads shows. A message being sent does so in a moment. */
export function isShown({ inbound, open, due }: Pick<MessageRecord, 'inbound' | 'open' | 'due'>): boolean {
  return inbound === true || open !== true || due !== undefined
}

/** True if a person is to read it: a person has its thread, or it ended without an answer. */
export function isUnread({
  reason,
  inbound,
  state,
}: Pick<MessageRecord, 'reason' | 'inbound' | 'state'>): boolean {
  const isUnanswered = inbound === true && UNANSWERED.some((one) => one === state)
  return isUnanswered || UNREAD_REASONS.some((one) => one === reason)
}

/** Of the messages those that {@link isUnread} says to be so. */
export const UNREAD: mongo.Filter<MessageRecord> = {
  $or: [{ reason: { $in: [...UNREAD_REASONS] } }, { inbound: true, state: { $in: [...UNANSWERED] } }],
}

/** Why an unread message is one. */
export function unreadFor({ _id, receivedAt, reason, state }: UnreadMessage): UnreadFor {
  const of = { message: _id, at: receivedAt }
  const why = UNREAD_REASONS.find((one) => one === reason)
  if (why !== undefined) return { why, ...of }
  const said = reason ?? `The message is ${state}.`
  return { why: 'unanswered', ...of, reason: said.slice(0, MAX_FIELD).toWellFormed() }
}

type UnreadMessage = Pick<MessageRecord, '_id' | 'receivedAt' | 'reason' | 'state'>

/** Returns a message's contribution to its thread; the person's data also from the earlier message `named`. */
export function activityOf(excerpt: Excerpt, named: Excerpt = excerpt): Activity {
  const message = messageIn(excerpt)
  const person = personIn(excerpt, message)
  const earlier = named === excerpt ? undefined : personIn(named, messageIn(named))
  return {
    lastAt: excerpt.at,
    lastMessage: excerpt.sent ?? shown(said(excerpt, message)),
    ...earlier,
    ...person,
    user: { ...earlier?.user, ...person.user },
  }
}

const campaignContext = z.object({ campaign: z.string(), recipient: z.string() })

/** The campaign that a message is of, as whoever sent it says. */
export function campaignOf({
  source,
  body,
  receivedAt: at,
}: Pick<MessageRecord, 'source' | 'body' | 'receivedAt'>): ThreadCampaign | undefined {
  if (source !== CAMPAIGN_SOURCE) return undefined
  const { data } = campaignContext.safeParse(messageIn({ body }).thread?.ctx)
  return data && { _id: data.campaign, recipient: data.recipient, at }
}

function messageIn({ body }: Pick<Excerpt, 'body'>): Partial<WebhookMessage> {
  return (jsonOrUndefined(body) ?? {}) as Partial<WebhookMessage>
}

function personIn(
  excerpt: Excerpt,
  message: Partial<WebhookMessage>,
): Pick<Activity, 'user' | 'addresses' | 'phoneEnds' | 'words'> {
  const { phone, email, username } = message.user ?? {}
  // Of a group's writers none is the group.
  const isOfGroup = receivedContent(message as WebhookMessage, excerpt.source)?.isOfGroup
  const name = isOfGroup ? undefined : message.user?.name
  const words = searchWords(name ?? '')
  return {
    user: defined({
      ...{ name: cut(name), phone: cut(phone), email: cut(email) },
      username: typeof username === 'string' ? cut(username) : undefined,
    }),
    ...defined({ addresses: excerpt.addresses, words: someOf(words) }),
    ...defined({ phoneEnds: excerpt.addresses && someOf(phoneEnds(excerpt.addresses)) }),
  }
}

const someOf = (texts: string[]): string[] | undefined => (texts.length === 0 ? undefined : texts)

function said({ transcript, source, changed }: Excerpt, given: Partial<WebhookMessage>): string {
  if (changed?.isDeleted) return '[deleted]'
  const message = currentMessage(given as WebhookMessage, changed)
  const { nature } = receivedContent(message, source) ?? {}
  if (nature?.kind === 'notice') return `[${nature.shown}]`
  const media = mediaOf(message, source)
  return message.input || transcript || (media === undefined ? (message.answer?.message ?? '') : `[${media}]`)
}

function shown(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1).toWellFormed()}…`
}

function cut(text: string | null | undefined): string | undefined {
  return text ? text.slice(0, MAX_FIELD).toWellFormed() : undefined
}
