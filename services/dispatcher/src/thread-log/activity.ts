import { defined } from '@parley/shared/defined'
import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { MessageRecord } from '../message/message-record.ts'
import { isSettled } from '../message/send-state.ts'
import { isPersonal, mediaOf, sentAt, textOfContent } from '../message/spoken-text.ts'
import { searchWords, type ThreadRecord, type ThreadUser, UNREAD_REASONS } from '../message/thread-record.ts'

const MAX_SHOWN = 200
const MAX_FIELD = 1_024

/** What a message tells of its thread: the part of the thread's document that is written behind its messages. */
export type Activity = Pick<ThreadRecord, 'lastMessage' | 'lastAt' | 'phone' | 'words'> & { user: ThreadUser }

/** When something last happened in a message that a list of threads shows. */
export function activeAt(record: MessageRecord): Date {
  const send = record.sends.findLast((one) => isPersonal(one) && isSettled(one))
  if (send === undefined) return record.receivedAt
  const at = sentAt(record, send)
  return at > record.receivedAt ? at : record.receivedAt
}

/** Whether the message, as it now stands, changes what a list of threads shows. What is being sent does so in a moment. */
export function isShown({ inbound, open, due }: Pick<MessageRecord, 'inbound' | 'open' | 'due'>): boolean {
  return inbound === true || open !== true || due !== undefined
}

/** Whether it is one that a person is to read. */
export function isUnread({ reason }: Pick<MessageRecord, 'reason'>): boolean {
  return (UNREAD_REASONS as readonly (string | undefined)[]).includes(reason)
}

/** What the message tells of its thread; who the person is, also what an earlier one says that `named` is. */
export function activityOf(record: MessageRecord, named: MessageRecord = record): Activity {
  const message = messageIn(record)
  const person = personIn(record, message)
  const earlier = named === record ? undefined : personIn(named, messageIn(named))
  return {
    lastAt: activeAt(record),
    lastMessage: shown(lastSaid(record, message)),
    ...earlier,
    ...person,
    user: { ...earlier?.user, ...person.user },
  }
}

function messageIn({ body }: MessageRecord): Partial<WebhookMessage> {
  return (jsonOrUndefined(body) ?? {}) as Partial<WebhookMessage>
}

function personIn(
  record: MessageRecord,
  message: Partial<WebhookMessage>,
): Pick<Activity, 'user' | 'phone' | 'words'> {
  const { name, phone, email } = message.user ?? {}
  const words = searchWords(name ?? '')
  return {
    user: defined({ name: cut(name), phone: cut(phone), email: cut(email) }),
    ...defined({ phone: record.phone, words: words.length === 0 ? undefined : words }),
  }
}

function lastSaid(record: MessageRecord, message: Partial<WebhookMessage>): string {
  const personal = record.sends.filter(isPersonal)
  const send = personal.findLast(isSettled) ?? (record.inbound === true ? undefined : personal.at(-1))
  if (send !== undefined) return textOfContent(send.content)
  const { input, answer } = message
  const media = mediaOf(message as WebhookMessage)
  return input || record.transcript || (media === undefined ? (answer?.message ?? '') : `[${media}]`)
}

function shown(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1).toWellFormed()}…`
}

function cut(text: string | null | undefined): string | undefined {
  return text ? text.slice(0, MAX_FIELD).toWellFormed() : undefined
}
