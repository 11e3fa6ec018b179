import { templateArgs, type WebhookMessage } from '@parley/shared/message'
import type { Fault, Send, SendContent } from './message-record.ts'

export type Answer = WebhookMessage['answer']

/** What an answer asks for: things to send, in order, or why it can't be done. */
export type Plan = { kind: 'sends'; sends: Send[] } | { kind: 'dead'; reason: string; fault: Fault }

/** Whether a message carries an answer already, so that no handler is needed: text, functions or a submission. */
export function hasAnswer(answer: Answer): boolean {
  return (
    Boolean(answer.message) ||
    (answer.functions ?? []).length > 0 ||
    Object.keys(answer.submit ?? {}).length > 0
  )
}

/** Lists what an answer sends: its functions' templates in order, then its text. */
export function planSends(messageId: string, answer: Answer): Plan {
  const contents: SendContent[] = []
  for (const entry of answer.functions ?? []) {
    const template = templateArgs.safeParse(entry.args)
    if (!template.success) {
      const reason = `No action of the channel's assistant has an operation named ${JSON.stringify(entry.name ?? '')}.`
      return { kind: 'dead', reason, fault: 'channel' }
    }
    const { language, variables } = template.data
    contents.push({
      kind: 'template',
      template: template.data.template,
      language,
      variables: variables ?? [],
    })
  }
  if (answer.message) contents.push({ kind: 'text', text: answer.message })
  const sends = contents.map(
    (content, index): Send => ({ id: `${messageId}:${index}`, content, state: 'pending' }),
  )
  return { kind: 'sends', sends }
}
