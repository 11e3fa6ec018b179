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

/** A response of the simulated model. */
export interface Reply {
  text: string
  calls: { id: string; name: string; arguments: string }[]
}

/** How the dispatcher's prompt says when a step is complete. */
const SUBMIT_WHEN = /\bcall the tool submit, when: (.+)$/m
const MAX_DEPTH = 4

/**
 * A modest assistant. It calls each tool whose name the person mentions, one in each reply, with the JSON object that
 * follows the name, else with made-up arguments; it submits when the person quotes the condition of the step; else it
 * repeats what the tools, or the person, said.
 */
export function replyByRules({ messages, tools = [] }: Pick<ChatRequest, 'messages' | 'tools'>): Reply {
  const { text, after } = lastOfPerson(messages)
  const called = after.flatMap((one) => one.tool_calls ?? []).map((call) => call.function.name)
  const open = tools.map((one) => one.function).filter(({ name }) => !called.includes(name))
  const mentioned = open
    .map((tool) => ({ tool, at: positionOf(tool.name, text) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at)[0]
  if (mentioned !== undefined) return call(messages, mentioned.tool, argumentsAt(text, mentioned))
  const submit = open.find(({ name }) => name === 'submit')
  if (submit !== undefined && quotesCondition(messages, text)) return call(messages, submit, { said: text })
  return { text: repeated(text, after), calls: [] }
}

function call(messages: ChatMessage[], { name }: ChatTool, args: unknown): Reply {
  // The same for the same conversation, so that a call that is repeated is the same.
  return { text: '', calls: [{ id: `call_${messages.length}`, name, arguments: JSON.stringify(args) }] }
}

/** Where a text has this name as a word of its own; -1 where it does not. */
function positionOf(name: string, text: string): number {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const around = [text.charAt(at - 1), text.charAt(at + name.length)]
    if (!around.some((character) => /[\w-]/.test(character))) return at
  }
  return -1
}

function argumentsAt(text: string, { tool, at }: { tool: ChatTool; at: number }): unknown {
  const rest = text.slice(at + tool.name.length).trimStart()
  for (let end = rest.startsWith('{') ? rest.indexOf('}') : -1; end >= 0; end = rest.indexOf('}', end + 1)) {
    try {
      return JSON.parse(rest.slice(0, end + 1))
    } catch {
      // An inner brace.
    }
  }
  return sampleOf(tool.parameters ?? {}, text, 0)
}

interface Schema {
  type?: unknown
  enum?: unknown[]
  required?: string[]
  properties?: Record<string, Schema>
}

/** Makes a value for a schema, with as little as will do. */
function sampleOf(schema: Schema, text: string, depth: number): unknown {
  if (schema.enum !== undefined && schema.enum.length > 0) return schema.enum[0]
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return true
    case 'array':
      return []
    case 'string':
      return text
    default: {
      const names = depth < MAX_DEPTH ? (schema.required ?? []) : []
      return Object.fromEntries(
        names.map((name) => [
          name,
          sampleOf(schema.properties?.[name] ?? { type: 'string' }, text, depth + 1),
        ]),
      )
    }
  }
}

function quotesCondition(messages: ChatMessage[], text: string): boolean {
  const system = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .join('\n')
  const condition = SUBMIT_WHEN.exec(system)?.[1]?.trim().toLowerCase()
  return condition !== undefined && text.toLowerCase().includes(condition)
}

function repeated(text: string, after: ChatMessage[]): string {
  const results = after.filter(({ role }) => role === 'tool').map(textOf)
  return results.length === 0 ? `You said: ${text}` : `The tools said: ${results.join('; ')}`
}

type ChatMessage = ChatRequest['messages'][number]

type ChatTool = NonNullable<ChatRequest['tools']>[number]['function']

/** The text of a message, whether it came whole or in parts. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('')
}

/** The person's last text and what came after it; data is none of the person's. */
export function lastOfPerson(messages: ChatMessage[]): { text: string; after: ChatMessage[] } {
  const at = messages.findLastIndex((one) => one.role === 'user' && !textOf(one).startsWith('<data>'))
  const found = messages[at]
  return { text: found === undefined ? '' : textOf(found), after: at < 0 ? [] : messages.slice(at + 1) }
}
