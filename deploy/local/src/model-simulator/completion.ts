import { type ChatRequest, textOf } from './chat-request.ts'
import type { Reply } from './rules.ts'
import type { ScriptedResponse } from './script.ts'

const CHARACTERS_IN_TOKEN = 4
const CHUNK_CHARACTERS = 8
/** A long text in small chunks would be many times as long. */
const MAX_CHUNKS = 1_000

/** A chat completion as OpenAI writes it. */
export interface Completion {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: [
    {
      index: 0
      message: { role: 'assistant'; content: string | null; tool_calls?: object[] }
      finish_reason: string
    },
  ]
  usage: object
}

export function completionOf(
  { model, messages }: Pick<ChatRequest, 'model' | 'messages'>,
  { text, calls }: Reply,
  scripted: Pick<ScriptedResponse, 'finishReason' | 'usage'> | undefined,
): Completion {
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  const message = {
    role: 'assistant' as const,
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  }
  const read = messages.reduce((sum, one) => sum + textOf(one).length, 0)
  const written = calls.reduce((sum, call) => sum + call.arguments.length, text.length)
  return {
    id: `chatcmpl-${messages.length}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1_000),
    model,
    choices: [
      {
        index: 0,
        message,
        finish_reason: scripted?.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      },
    ],
    usage: scripted?.usage ?? usageOf(read, written),
  }
}

function usageOf(read: number, written: number) {
  const [prompt, completion] = [read, written].map((characters) =>
    Math.ceil(characters / CHARACTERS_IN_TOKEN),
  )
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: (prompt ?? 0) + (completion ?? 0),
  }
}

/** The same as the chunks of a stream: text and arguments in pieces, then the reason, then the tokens where they are asked for. */
export function chunksOf(completion: Completion, { withUsage }: { withUsage: boolean }): object[] {
  const { id, created, model, usage } = completion
  const [{ message, finish_reason }] = completion.choices
  const base = { id, object: 'chat.completion.chunk', created, model }
  const chunk = (delta: object, reason: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  const calls = (message.tool_calls ?? []) as { id: string; function: { name: string; arguments: string } }[]
  return [
    chunk({ role: 'assistant', content: '' }),
    ...piecesOf(message.content ?? '').map((content) => chunk({ content })),
    ...calls.flatMap(({ id, function: { name, arguments: args } }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...piecesOf(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finish_reason),
    ...(withUsage ? [{ ...base, choices: [], usage }] : []),
  ]
}

function piecesOf(text: string): string[] {
  const size = Math.max(CHUNK_CHARACTERS, Math.ceil(text.length / MAX_CHUNKS))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  )
}
