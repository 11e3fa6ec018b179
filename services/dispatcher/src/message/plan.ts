import type { WebhookMessage } from '@parley/shared/message'
import { markedUp, type Speaking } from '@parley/shared/providers/marked-up'
import type { Wrong } from '@parley/shared/providers/outbound'
import { allProviders } from '@parley/shared/providers/registry'
import { z } from 'zod'
import { type MessageRecord, REPLY_SOURCE, type Send, type SendContent } from './message-record.ts'
import { contentsOf, isSaid } from './said.ts'
import { textsOf } from './split-text.ts'

export type Answer = WebhookMessage['answer']

/** True if a message carries an answer already, so that no handler is needed: text, functions or a submission. */
export function hasAnswer(answer: Answer): boolean {
  return Boolean(answer.message) || (answer.functions ?? []).length > 0 || hasSubmission(answer)
}

/** The sends of an answer, or the parts that are not understood, by their paths in the answer. */
interface Plan {
  sends: Send[]
  errors: Wrong[]
}

/**
 * Lists what an answer sends, in order: its functions, what they say to the person among them, its text in parts of
 * `maxText`, what it submits. What a person of the team wrote is put into the provider's markup.
 */
export function planSends(
  { _id: messageId, source }: Pick<MessageRecord, '_id' | 'source'>,
  answer: Answer,
  { channel, maxText }: { channel: Speaking; maxText?: number | undefined },
): Plan {
  const isReply = source === REPLY_SOURCE
  const errors: Wrong[] = []
  const contents = (answer.functions ?? []).flatMap((entry, position): SendContent[] => {
    const object = isReply ? objectContentOf(entry, position) : undefined
    if (object !== undefined) return [object]
    if (!isSaid(entry)) return [{ kind: 'function', name: entry.name ?? '', position }]
    const found = contentsOf(entry.args ?? {}, channel, maxText)
    if (found.kind === 'contents') return found.contents
    const at = ['functions', String(position), 'args']
    errors.push(...found.errors.map(({ path, message }) => ({ path: [...at, ...path], message })))
    return []
  })
  if (answer.message) {
    const text = isReply ? markedUp(answer.message, channel) : answer.message
    contents.push(...textsOf(text, maxText).map(({ content }) => content))
  }
  if (hasSubmission(answer)) contents.push({ kind: 'submit' })
  const sends = contents.map(
    (content, index): Send => ({ id: `${messageId}:${index}`, content, state: 'pending' }),
  )
  return { sends, errors }
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
