import type { WebhookMessage } from '@parley/shared/message'
import { providerNamed } from '@parley/shared/providers/registry'
import type { MessageRecord, ObjectContent, PersonalContent, Send } from './message-record.ts'
import { objectIn, objectOf } from './object-content.ts'
import { receivedContent } from './received-content.ts'

/** Returns a content for the person as readable text. An object may be in the message that sends it. */
export function textOfContent(content: PersonalContent, message?: FindMessage): string {
  if (content.kind === 'text') return content.text
  if (content.kind !== 'template') return textOfObject(content, message)
  const { template, language, variables } = content
  return `[Template ${template} (${language})${variables.map((one) => ` | ${one}`).join('')}]`
}

function textOfObject(content: ObjectContent, message?: FindMessage): string {
  const object = objectOf(content, content.object === undefined ? message?.() : undefined)
  const preview = object && providerNamed(content.provider)?.outbound.objects?.preview(object)
  if (preview?.type === 'text' && preview.text !== undefined) return preview.text
  return [`[${preview?.type ?? content.type}]`, preview?.link, preview?.text].filter(Boolean).join(' ')
}

/** Reads the message that a send belongs to; undefined where that can't be read. */
type FindMessage = () => Partial<Pick<WebhookMessage, 'answer'>> | undefined

export type PersonalSend = Send & { content: PersonalContent }

/** True if a send goes to the person, and not to an action, a task or a tool. */
export function isPersonal<T extends Pick<Send, 'content'>>(
  send: T,
): send is T & { content: PersonalContent } {
  const { kind } = send.content
  return kind === 'text' || kind === 'template' || objectIn(send.content) !== undefined
}

/** When a send was tried last; where that is not known any more, when its message was written last. */
export function sentAt(
  { attempts, updatedAt }: Pick<MessageRecord, 'attempts' | 'updatedAt'>,
  { id }: Send,
): Date {
  return attempts.findLast(({ step }) => step === id)?.at ?? updatedAt
}

/** Returns the type of the person's media, as its provider names it, or audio; undefined for a text alone. */
export function mediaOf(message: WebhookMessage, source: string): string | undefined {
  if (message.audio || message.audioRef) return 'audio'
  return receivedContent(message, source)?.type
}
