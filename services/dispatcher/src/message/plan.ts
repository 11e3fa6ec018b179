import { templateArgs, type WebhookMessage } from '@parley/shared/message'
import type { Send, SendContent } from './message-record.ts'

export type Answer = WebhookMessage['answer']

/** Whether a message carries an answer already, so that no handler is needed: text, functions or a submission. */
export function hasAnswer(answer: Answer): boolean {
  return Boolean(answer.message) || (answer.functions ?? []).length > 0 || hasSubmission(answer)
}

/** Lists what an answer sends, in order: its functions, templates among them, its text, what it submits. */
export function planSends(messageId: string, answer: Answer): Send[] {
  const contents = (answer.functions ?? []).map(contentOf)
  if (answer.message) contents.push({ kind: 'text', text: answer.message })
  if (hasSubmission(answer)) contents.push({ kind: 'submit' })
  return contents.map((content, index): Send => ({ id: `${messageId}:${index}`, content, state: 'pending' }))
}

/** A function whose arguments name template and language sends that template; any other is an action's. */
function contentOf(entry: NonNullable<Answer['functions']>[number], position: number): SendContent {
  const template = templateArgs.safeParse(entry.args)
  if (!template.success) return { kind: 'function', name: entry.name ?? '', position }
  const { language, variables } = template.data
  return { kind: 'template', template: template.data.template, language, variables: variables ?? [] }
}

function hasSubmission({ submit }: Answer): boolean {
  return Object.keys(submit ?? {}).length > 0
}
