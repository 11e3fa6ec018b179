import type { WebhookMessage } from '@parley/shared/message'
import type { MessageRecord, PersonalContent, Send } from './message-record.ts'

/** What goes to the person, as a text that tells people what it is. */
export function textOfContent(content: PersonalContent): string {
  if (content.kind === 'text') return content.text
  if (content.kind === 'whatsapp') return `[${content.type}]`
  const { template, language, variables } = content
  return `[Template ${template} (${language})${variables.map((one) => ` | ${one}`).join('')}]`
}

export type PersonalSend = Send & { content: PersonalContent }

/** Whether a send goes to the person, and not to an action, a task or a tool. */
export function isPersonal(send: Send): send is PersonalSend {
  const { kind } = send.content
  return kind === 'text' || kind === 'template' || kind === 'whatsapp'
}

/** When a send was tried last; where that is not known any more, when its message was written last. */
export function sentAt(
  { attempts, updatedAt }: Pick<MessageRecord, 'attempts' | 'updatedAt'>,
  { id }: Send,
): Date {
  return attempts.findLast(({ step }) => step === id)?.at ?? updatedAt
}

/** What the person sent that is no text: the type that Meta names, or audio; undefined for a text alone. */
export function mediaOf({ audio, audioRef, meta }: WebhookMessage): string | undefined {
  if (audio || audioRef) return 'audio'
  const type = typeof meta === 'object' && meta !== null ? (meta as { type?: unknown }).type : undefined
  return typeof type === 'string' && type !== 'text' ? type : undefined
}
