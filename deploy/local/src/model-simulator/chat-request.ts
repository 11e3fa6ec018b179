import { z } from 'zod'

const text = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  z.null(),
])
const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string().regex(/^[\w-]{1,64}$/), arguments: z.string() }),
})
const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: text.optional(),
  tool_calls: z.array(toolCall).optional(),
  tool_call_id: z.string().optional(),
})
const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().regex(/^[\w-]{1,64}$/, 'does not match ^[a-zA-Z0-9_-]{1,64}$'),
    description: z.string().optional(),
    parameters: z.looseObject({}).optional(),
  }),
})

/** The body of POST /v1/chat/completions, as far as the simulator looks at it. */
export const chatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  tools: z.array(tool).max(128).optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
})
export type ChatRequest = z.output<typeof chatRequest>
export type ChatMessage = ChatRequest['messages'][number]
export type ChatTool = NonNullable<ChatRequest['tools']>[number]['function']

/** The text of a message, whether it came whole or in parts. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('')
}

/** What a person wrote last and what came after it; data is not what a person wrote. */
export function lastOfPerson(messages: ChatMessage[]): { text: string; after: ChatMessage[] } {
  const at = messages.findLastIndex((one) => one.role === 'user' && !textOf(one).startsWith('<data>'))
  const found = messages[at]
  return { text: found === undefined ? '' : textOf(found), after: at < 0 ? [] : messages.slice(at + 1) }
}
