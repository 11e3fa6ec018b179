import { z } from 'zod'
import { withItsNumbers } from '../exact-responses.ts'

/** Blocks of a result that are looked at: what a model is given of them is cut long before. */
const MAX_BLOCKS = 500

/**
 * What the SDK checks results with tries each block of a content as everything that it might be, which takes a hundred
 * times as long as reading it. Here it is read as far as it is used.
 */
const block = z.object({
  type: z.string(),
  text: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  resource: z.object({ uri: z.string().optional(), text: z.string().optional() }).optional(),
})
type Block = z.output<typeof block>

export const callResult = z.object({
  content: z
    .array(z.unknown())
    .transform((blocks) => blocks.slice(0, MAX_BLOCKS))
    .pipe(z.array(block))
    .default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

export const serverTool = z.object({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  annotations: z
    .object({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() })
    .optional(),
})

/** A page of a list of tools, each of which is a {@link serverTool}. */
export const toolPage = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

/** What a result says, as text; what is no text is named. */
export function textOf({ content, structuredContent }: z.output<typeof callResult>): string {
  if (content.length > 0) return content.map(blockText).join('\n')
  return structuredContent === undefined
    ? 'It answered with nothing.'
    : withItsNumbers(JSON.stringify(structuredContent))
}

function blockText({ type, text, mimeType, uri, resource }: Block): string {
  if (type === 'text') return text ?? ''
  if (type === 'resource') return resource?.text ?? `[resource ${resource?.uri}]`
  if (type === 'resource_link') return `[resource ${uri}]`
  return `[${type} ${mimeType ?? ''}]`
}
