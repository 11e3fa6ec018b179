import { jsonObject } from '@parley/shared/json-object'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { z } from 'zod'
import type { Turn } from '../../message/turn.ts'
import type { ModelChoice, Reasoning, ResponsePart } from '../model-client.ts'

/** Of what is given back, as JSON: turns are stored with their message. */
export const MAX_REASONING_BYTES = 64 * 1024
/** Of a thought that is too long, where nothing signs it. */
const MAX_SHORTENED = 8_000

const stored = z.array(
  z.object({
    kind: z.enum(['thought', 'text', 'call']),
    text: z.string().optional(),
    data: z.record(z.string(), jsonObject).optional(),
  }),
)

/**
 * What a provider wants back with an answer while its tools are run, as JSON text: thoughts, and what signs them. Undefined
 * where there is nothing of that, or it is longer than 64 KiB.
 */
export function reasoningText(parts: readonly ResponsePart[]): string | undefined {
  if (!parts.some(({ kind, data }) => kind === 'thought' || data !== undefined)) return undefined
  return [parts, parts.map(shortened)].map((some) => JSON.stringify(some)).find(fits)
}

const fits = (text: string): boolean => Buffer.byteLength(text) <= MAX_REASONING_BYTES

const shortened = (part: ResponsePart): ResponsePart =>
  part.text === undefined || part.data !== undefined
    ? part
    : { ...part, text: part.text.slice(0, MAX_SHORTENED).toWellFormed() }

/** Returns the reasoning of a turn that is given back in another turn of the same message. */
export function reasoningOf({ provider, model, reasoning }: Pick<Turn, 'provider' | 'model' | 'reasoning'>): {
  reasoning?: Reasoning
} {
  if (reasoning === undefined) return {}
  const { data: parts } = stored.safeParse(jsonOrUndefined(reasoning))
  return parts === undefined ? {} : { reasoning: { provider, model, parts } }
}

/** Signatures are of one model, and another one's thoughts are nobody's business. */
export const isOwnReasoning = (
  { provider, model }: Pick<Reasoning, 'provider' | 'model'>,
  choice: Pick<ModelChoice, 'provider' | 'model'>,
): boolean => provider === choice.provider && model === choice.model
