import { jsonObject } from '@parley/shared/json-object'
import { exactOrUndefined } from '@parley/shared/parse-json'
import type { ToolCall, ToolResult } from '../../message/turn.ts'
import type { ConversationItem, ModelRequest, ResponsePart } from '../model-client.ts'
import type { ModelCall } from './provider-models.ts'
import { withoutThoughts } from './thoughts.ts'

const MAX_CHARACTERS = 64

type Messages = ModelCall['prompt']
type CompletedCall = ToolCall & { result: ToolResult }

/** Providers refuse other names of tools, also in what is said to have been called. */
const TOOL_NAME_CHARACTERS = 64

/**
 * What a model is given: the system text, then the conversation, with call ids that are unique in it. Where it has no
 * tools now, the calls that were made before are data: Anthropic refuses them without a list of tools.
 */
export function messagesOf({
  system,
  conversation,
  tools,
}: Pick<ModelRequest, 'system' | 'conversation' | 'tools'>): Messages {
  const ids = new Set<string>()
  const messages = conversation
    .flatMap((item) => (tools.length > 0 ? item : withCallsAsData(item)))
    .flatMap((item) => messagesOfItem(item, ids))
  // Some providers refuse a conversation that the assistant begins: the history may be cut there.
  const beginning: Messages =
    messages[0]?.role === 'user' ? [] : [userText('(Earlier messages are left out.)')]
  return [{ role: 'system', content: system }, ...beginning, ...messages]
}

function withCallsAsData(item: ConversationItem): ConversationItem[] {
  if (item.role !== 'assistant' || item.calls.length === 0) return [item]
  const called = item.calls.map(({ tool, args, result }) => ({ tool, args, result: textOf(result) }))
  return [
    { role: 'assistant', text: item.text, calls: [] },
    { role: 'data', json: JSON.stringify({ called }) },
  ]
}

function messagesOfItem(item: ConversationItem, ids: Set<string>): Messages {
  switch (item.role) {
    case 'data':
      return [userText(`<data>\n${markedJson(item.json)}\n</data>`, item.images)]
    case 'person':
      return messageOfPerson(item)
    case 'assistant':
      return messagesOfAssistant(
        item.text,
        item.calls.map((call) => ({ ...call, id: uniqueCallId(call.id, ids) })),
        item.reasoning?.parts,
      )
  }
}

/** Facts as they are written: the mark around them can't be closed from inside. */
export const markedJson = (json: string): string => json.replaceAll('<', '\\u003c')

const userText = (text: string, images: readonly Image[] = []): Messages[number] => ({
  role: 'user',
  content: [{ type: 'text', text }, ...fileParts(images)],
})

type Image = { mediaType: string; data: Buffer }

function messageOfPerson({ text, images = [] }: Extract<ConversationItem, { role: 'person' }>): Messages {
  const files = fileParts(images)
  const texts = textParts(text)
  return files.length + texts.length === 0 ? [] : [{ role: 'user', content: [...texts, ...files] }]
}

const fileParts = (images: readonly Image[]) =>
  images.map(({ mediaType, data }) => ({
    type: 'file' as const,
    mediaType,
    data: { type: 'data' as const, data: new Uint8Array(data) },
  }))

function messagesOfAssistant(
  text: string,
  calls: CompletedCall[],
  parts: readonly ResponsePart[] = [],
): Messages {
  const toolCalls = calls.map(({ id, tool, args }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: nameOf(tool),
    input: argumentsOf(args),
  }))
  // Earlier versions stored what a model thought, and callers repeat what they were shown.
  const texts = textParts(withoutThoughts(text))
  if (texts.length + toolCalls.length === 0) return []
  const said: Messages = [{ role: 'assistant', content: inSequence(parts, texts, toolCalls) }]
  if (calls.length === 0) return said
  const results = calls.map(({ id, tool, result }) => ({
    type: 'tool-result' as const,
    toolCallId: id,
    toolName: nameOf(tool),
    output: {
      type: result.state === 'done' ? ('text' as const) : ('error-text' as const),
      value: textOf(result),
    },
  }))
  return [...said, { role: 'tool', content: results }]
}

type AssistantPart = Extract<Messages[number], { role: 'assistant' }>['content'][number]

/** Text and calls where they stood in what the model answered, with its thoughts; what has no place there comes last. */
function inSequence(
  parts: readonly ResponsePart[],
  texts: readonly AssistantPart[],
  calls: readonly AssistantPart[],
): AssistantPart[] {
  const left = { text: [...texts], call: [...calls] }
  const placed = parts.flatMap(({ kind, text = '', data }): AssistantPart[] => {
    const part: AssistantPart | undefined =
      kind === 'thought' ? { type: 'reasoning', text } : left[kind].shift()
    if (part === undefined) return []
    return [
      {
        ...part,
        ...(data && { providerOptions: data as AssistantPart['providerOptions'] }),
      } as AssistantPart,
    ]
  })
  return [...placed, ...left.text, ...left.call]
}

/** Providers refuse texts that are empty or white space alone, which models say before they call a tool. */
const textParts = (text: string): { type: 'text'; text: string }[] =>
  text.trim() === '' ? [] : [{ type: 'text', text }]

const nameOf = (tool: string): string =>
  tool.replaceAll(/[^\w-]/g, '_').slice(0, TOOL_NAME_CHARACTERS) || 'unknown'

/** Providers take objects only; what was wrong with others stands in the result. */
function argumentsOf(args: string): object {
  const parsed = jsonObject.safeParse(exactOrUndefined(args))
  return parsed.success ? parsed.data : {}
}

function textOf({ state, status, text, cut }: ToolResult): string {
  const beginning = state === 'failed' && status !== undefined ? `HTTP ${status}\n` : ''
  const shown = `${beginning}${text}${cut ? '\n[The result is longer; the rest is left out.]' : ''}`
  return shown.trim() === '' ? '(empty)' : shown
}

/**
 * The id of a tool call as every provider takes it (`^[a-zA-Z0-9_-]{1,64}$`), another one where `taken` has it
 * already; `taken` gets it.
 */
export function uniqueCallId(id: string, taken: Set<string>): string {
  const plain = id.replaceAll(/[^\w-]/g, '_').slice(0, MAX_CHARACTERS) || 'call'
  let unique = plain
  for (let n = 2; taken.has(unique); n++) {
    const ending = `_${n}`
    unique = plain.slice(0, MAX_CHARACTERS - ending.length) + ending
  }
  taken.add(unique)
  return unique
}
