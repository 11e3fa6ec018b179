import { defined } from '@parley/shared/defined'
import { CallError } from '../../channels/http/call-error.ts'
import type { BoundingFetch } from '../../channels/http/guarded-fetch.ts'
import { presentable } from '../../channels/http/presentable.ts'
import { responseMemory } from '../../channels/http/response-memory.ts'
import { withItsNumbers } from '../exact-responses.ts'
import type {
  ConversationItem,
  ModelChoice,
  ModelClient,
  ModelRequest,
  ModelResult,
  ResponsePart,
} from '../model-client.ts'
import { plainArguments } from './call-arguments.ts'
import { deadlineFor } from './deadline.ts'
import { GrowingText } from './growing-text.ts'
import { EMPTY_RESPONSE, type Failure, failureOf, refused, retryable, StreamError } from './model-failure.ts'
import { markedJson, messagesOf, uniqueCallId } from './model-messages.ts'
import { plainSchema } from './plain-schema.ts'
import { withCacheMarks } from './prompt-cache.ts'
import { createLanguageModels, type LanguageModel, type ModelCall } from './provider-models.ts'
import { isOwnReasoning, reasoningText } from './reasoning.ts'
import { StreamedParts } from './streamed-parts.ts'
import { ThoughtFilter, withoutThoughts } from './thoughts.ts'

/** Of text and arguments together: turns are stored with their message. */
const MAX_RESPONSE_CHARACTERS = 128 * 1024
const MAX_CALLS = 128
const MAX_TOOL_NAME = 256
/** In bytes, what a piece of text or arguments takes beside its characters where strings are put together. */
const PIECE_BYTES = 64

type Generated = Awaited<ReturnType<LanguageModel['doGenerate']>>

/** The output of a model, before anything of it is checked. */
interface Said {
  /** Without what it thought. */
  text: string
  /** Of its text with what it thought, as far as they were counted. */
  characters: number
  calls: { id: string; tool: string; args: string }[]
  usage: Generated['usage']
  finishReason: string
  parts: ResponsePart[]
}

/**
 * Calls models by the providers of the AI SDK, below its `generateText`: that parses and checks the arguments which the
 * toolbox checks anyway, loads files that a model names, and takes nearly twice the processor time. Streams only when
 * somebody reads along.
 */
export function createModelClient({ fetch }: { fetch: BoundingFetch }): ModelClient {
  const wholeModelOf = createLanguageModels(fetch, 'text')
  const streamingModelOf = createLanguageModels(fetch, 'events')
  return {
    async ask(choice, request) {
      const started = performance.now()
      const deadline = deadlineFor(request.signal, request.timeoutMs)
      const { signal } = deadline
      try {
        signal.throwIfAborted()
        const call = callOf(choice, request, signal)
        const { onDelta } = request
        const said =
          onDelta === undefined
            ? await whole(await wholeModelOf(choice), call)
            : await streamed(await streamingModelOf(choice), call, {
                thoughts: thoughtFilterFor(choice),
                onDelta,
              })
        return resultOf(said, { choice, request, ms: performance.now() - started })
      } catch (error) {
        return failureOf(error, {
          timeoutMs: request.timeoutMs,
          timedOut: deadline.isOver,
          cancelled: request.signal.aborted,
          present: (text) => presentable(text, { key: choice.apiKey, prompt: textsOf(request) }),
        })
      } finally {
        deadline.end()
      }
    },
  }
}

function callOf(choice: ModelChoice, request: ModelRequest, abortSignal: AbortSignal): EndableCall {
  const { temperature, maxOutputTokens } = choice
  const tools = request.tools.map(({ name, description, inputSchema }) => ({
    type: 'function' as const,
    name,
    description,
    inputSchema: choice.provider === 'openai-compatible' ? plainSchema(inputSchema) : inputSchema,
  }))
  const messages = messagesOf({
    ...request,
    conversation: request.conversation.map((item) => forModel(item, choice)),
  })
  return {
    prompt:
      choice.provider === 'anthropic' ? withCacheMarks(messages, { mayCall: tools.length > 0 }) : messages,
    abortSignal,
    // Messages of people are not to be stored by the provider.
    providerOptions: { openai: { store: false } },
    ...(tools.length > 0 && { tools }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  }
}

/** Without what another model thought. */
function forModel(item: ConversationItem, choice: ModelChoice): ConversationItem {
  if (item.role !== 'assistant' || item.reasoning === undefined) return item
  const { reasoning, ...rest } = item
  return isOwnReasoning(reasoning, choice) ? item : rest
}

async function whole(model: LanguageModel, call: ModelCall): Promise<Said> {
  const { content, usage, finishReason } = await model.doGenerate(call)
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? [callSaid(part)] : []))
  const parts = content.flatMap((part): ResponsePart[] => {
    const data = dataOf(part.providerMetadata)
    if (part.type === 'reasoning') return [{ kind: 'thought', text: part.text, ...data }]
    if (part.type === 'text') return [{ kind: 'text', ...data }]
    return part.type === 'tool-call' ? [{ kind: 'call', ...data }] : []
  })
  return saidOf({ text, calls, parts, usage, finishReason })
}

/**
 * The providers' own addresses answer with thoughts apart; at any other there may be a model whose prompt begins one, unless
 * its settings say that it does not reason.
 */
function thoughtFilterFor({ provider, baseUrl, reasoning = true }: ModelChoice): ThoughtFilter {
  const isElsewhere = provider === 'openai-compatible' || baseUrl !== undefined
  return new ThoughtFilter({ mayBeginInPrompt: reasoning && isElsewhere })
}

type EndableCall = ModelCall & { abortSignal: AbortSignal }

interface Reading {
  thoughts: ThoughtFilter
  onDelta(text: string): void
}

async function streamed(model: LanguageModel, call: EndableCall, reading: Reading): Promise<Said> {
  const memory = new AbortController()
  const share = responseMemory.share((error) => memory.abort(error))
  const abortSignal = AbortSignal.any([call.abortSignal, memory.signal])
  try {
    const { stream } = await model.doStream({ ...call, abortSignal })
    return await readStream(stream, { ...reading, use: share.use })
  } finally {
    share.close()
  }
}

async function readStream(
  stream: Awaited<ReturnType<LanguageModel['doStream']>>['stream'],
  /** `use` is told how many bytes of the answer are in memory. */
  { thoughts, use, onDelta }: Reading & { use(bytes: number): void },
): Promise<Said> {
  const pass = (text: string) => {
    if (text !== '') onDelta(text)
  }
  const calls: Said['calls'] = []
  const parts = new StreamedParts()
  const text = new GrowingText(MAX_RESPONSE_CHARACTERS + 1)
  let begun = 0
  let pieces = 0
  const argumentLength = { streamed: 0, called: 0 }
  let end: Pick<Generated, 'usage' | 'finishReason'> | undefined
  for await (const part of stream) {
    if (part.type === 'error') throw new StreamError(part.error)
    if (part.type === 'tool-input-start') begun++
    if (part.type === 'tool-input-delta') argumentLength.streamed += part.delta.length
    if (part.type === 'tool-call') {
      calls.push(callSaid(part))
      argumentLength.called += part.input.length
    }
    if ('delta' in part) pieces++
    parts.take(part)
    // Nothing more of it is read: the SDK gathers arguments, and each further call costs it as much as all before.
    if (Math.max(begun, calls.length) > MAX_CALLS) throw new CallError('answer_too_large', undefined)
    const { streamed, called } = argumentLength
    if (Math.max(streamed, called) > MAX_RESPONSE_CHARACTERS)
      throw new CallError('answer_too_large', undefined)
    if (part.type === 'finish') end = part
    // Of a text that is too large the end is read all the same, for the tokens that it has taken.
    if (part.type === 'text-delta' && text.length <= MAX_RESPONSE_CHARACTERS) {
      const delta = part.delta.slice(0, MAX_RESPONSE_CHARACTERS + 1 - text.length)
      text.append(delta)
      if (text.length <= MAX_RESPONSE_CHARACTERS) pass(thoughts.push(delta))
    }
    const gathered = 2 * (text.length + streamed + called) + PIECE_BYTES * pieces
    use(text.allocated + parts.allocated + gathered)
  }
  if (end === undefined) throw new StreamError(undefined)
  if (text.length <= MAX_RESPONSE_CHARACTERS) thoughts.end().forEach(pass)
  return saidOf({ text: text.toString(), calls, parts: parts.all, ...end })
}

const dataOf = (metadata: Generated['content'][number]['providerMetadata']): Pick<ResponsePart, 'data'> =>
  metadata === undefined ? {} : { data: metadata as ResponsePart['data'] }

/** OpenAI's ids name what it has not stored. */
const asGivenBack = (part: ResponsePart, { provider }: ModelChoice): ResponsePart =>
  provider === 'openai' && part.kind !== 'thought' ? { kind: part.kind } : part

/** Returns the output of a model; a text that is too large is discarded, so nobody looks for thoughts in it. */
function saidOf(
  all: Pick<Said, 'text' | 'calls' | 'parts'> & Pick<Generated, 'usage' | 'finishReason'>,
): Said {
  const { text: said, calls, parts, usage, finishReason } = all
  const text = said.length > MAX_RESPONSE_CHARACTERS ? said : withoutThoughts(said)
  return { text, characters: said.length, calls, parts, usage, finishReason: finishReason.unified }
}

function callSaid(part: { toolCallId: string; toolName: string; input: string }): Said['calls'][number] {
  return {
    id: part.toolCallId,
    tool: part.toolName.slice(0, MAX_TOOL_NAME),
    args: plainArguments(withItsNumbers(part.input)),
  }
}

function resultOf(
  said: Said,
  { choice, request, ms }: { choice: ModelChoice; request: ModelRequest; ms: number },
): ModelResult {
  const { calls, usage, finishReason } = said
  const text = withoutFacts(said.text, request)
  const tokens = {
    inputTokens: countOf(usage.inputTokens.total),
    outputTokens: countOf(usage.outputTokens.total),
    ...cachedIn(usage),
  }
  const failure = failureIn({ ...said, text })
  if (failure !== undefined) return { ...failure, ...tokens }
  const taken = new Set(
    request.conversation.flatMap((item) => (item.role === 'assistant' ? item.calls : [])).map(({ id }) => id),
  )
  return {
    kind: 'answered',
    turn: {
      provider: choice.provider,
      model: choice.model,
      ...tokens,
      ms: Math.round(ms),
      finishReason,
      text: text.toWellFormed(),
      calls: calls.map((call) => ({ ...call, id: uniqueCallId(call.id, taken) })),
      // Without calls nothing follows that it would be given back with.
      ...defined({
        reasoning:
          calls.length > 0 ? reasoningText(said.parts.map((part) => asGivenBack(part, choice))) : undefined,
      }),
    },
  }
}

/** Without the facts that it was given, where it repeats them as they are. */
function withoutFacts(text: string, { conversation }: Pick<ModelRequest, 'conversation'>): string {
  const facts = conversation.flatMap((item) =>
    item.role === 'data' && item.json.length <= text.length ? [item.json, markedJson(item.json)] : [],
  )
  const found = facts.filter((json) => text.includes(json))
  return found.reduce((left, json) => left.replaceAll(json, ''), text)
}

/** Why an answer is thrown away; undefined for one that is kept. */
function failureIn({ text, characters, calls, finishReason }: Said): Failure | undefined {
  if (finishReason === 'content-filter')
    return refused('content_refused', 'The provider refuses the content.')
  // `interrupted` is an answer that ends before the provider says that it is complete.
  if (finishReason === 'error' || finishReason === 'interrupted')
    return retryable('broken_stream', 'The provider broke its answer off.')
  const size = calls.reduce((sum, { args }) => sum + args.length, characters)
  if (calls.length > MAX_CALLS || size > MAX_RESPONSE_CHARACTERS)
    return retryable('answer_too_large', "The model's answer is too large.")
  if (text === '' && calls.length === 0 && finishReason === 'other')
    return refused(EMPTY_RESPONSE, 'The model answered nothing.')
  return undefined
}

function cachedIn({ inputTokens }: Said['usage']): { cachedTokens?: number } {
  const cached = Math.min(countOf(inputTokens.cacheRead), countOf(inputTokens.total))
  return cached === 0 ? {} : { cachedTokens: cached }
}

/** A provider may say anything. */
function countOf(tokens: number | undefined): number {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0
}

function textsOf({ system, conversation }: ModelRequest): string[] {
  return [
    system,
    ...conversation.flatMap((item) => {
      if (item.role === 'data') return [item.json]
      if (item.role === 'person') return [item.text]
      return [item.text, ...item.calls.flatMap(({ args, result }) => [args, result.text])]
    }),
  ]
}
