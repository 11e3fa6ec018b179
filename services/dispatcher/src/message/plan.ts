import { templateArgs, type WebhookMessage } from '@parley/shared/message'
import { allProviders } from '@parley/shared/providers/registry'
import { z } from 'zod'
import { type MessageRecord, REPLY_SOURCE, type Send, type SendContent } from './message-record.ts'
import { textsOf } from './split-text.ts'

export type Answer = WebhookMessage['answer']

/** Whether a message carries an answer already, so that no handler is needed: text, functions or a submission. */
export function hasAnswer(answer: Answer): boolean {
  return Boolean(answer.message) || (answer.functions ?? []).length > 0 || hasSubmission(answer)
}

/** Lists what an answer sends, in order: its functions, templates among them, its text in parts of `maxText`, what it submits. */
export function planSends(
  { _id: messageId, source }: Pick<MessageRecord, '_id' | 'source'>,
  answer: Answer,
  maxText?: number,
): Send[] {
  const contents = (answer.functions ?? []).map(
    (entry, position) =>
      (source === REPLY_SOURCE ? objectContentOf(entry, position) : undefined) ?? contentOf(entry, position),
  )
  if (answer.message) contents.push(...textsOf(answer.message, maxText).map(({ content }) => content))
  if (hasSubmission(answer)) contents.push({ kind: 'submit' })
  return contents.map((content, index): Send => ({ id: `${messageId}:${index}`, content, state: 'pending' }))
}

/** A function whose arguments name template and language sends that template; any other is an action's. */
function contentOf(entry: FunctionEntry, position: number): SendContent {
  const template = templateArgs.safeParse(entry.args)
  if (!template.success) return { kind: 'function', name: entry.name ?? '', position }
  const { language, variables } = template.data
  return { kind: 'template', template: template.data.template, language, variables: variables ?? [] }
}

type FunctionEntry = NonNullable<Answer['functions']>[number]

/** A reply of a person may send an object of a provider's own; what callers post themselves may not. */
function objectContentOf({ args }: FunctionEntry, position: number): SendContent | undefined {
  for (const { name: provider, outbound } of allProviders()) {
    const object = outbound.objects && objectSchema.safeParse(args?.[provider]).data
    if (object !== undefined) return { kind: 'object', provider, type: object.type, position }
  }
  return undefined
}

const objectSchema = z.looseObject({ type: z.string() })

function hasSubmission({ submit }: Answer): boolean {
  return Object.keys(submit ?? {}).length > 0
}
