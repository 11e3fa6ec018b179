import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import { reasoningOf, reasoningText } from '../../src/agents/model/reasoning.ts'
import type { ConversationItem, ModelChoice } from '../../src/agents/model-client.ts'
import { turnOf } from '../../src/api/messages/view.ts'
import type { Turn } from '../../src/message/turn.ts'
import { agentLine } from './agent-line.ts'
import { modelTurn, toolCall } from './agent-system.ts'
import { localFetch, modelRequest, parcelTool } from './model-world.ts'
import { note } from './scripted-model.ts'

const THOUGHT = 'The margin is 40%.'
const { fetch, close } = localFetch()
let server: Listening
let answer: { type: string; body: string }
let asked: Parsed[] = []

beforeAll(async () => {
  server = await listen(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    asked.push(JSON.parse(Buffer.concat(chunks).toString()))
    res.writeHead(200, { 'content-type': answer.type }).end(answer.body)
  })
})
afterAll(async () => {
  close()
  await server.close()
})

const json = (body: object) => {
  answer = { type: 'application/json', body: JSON.stringify(body) }
}
const events = (all: object[]) => {
  const lines = all.map(
    (one) => `${'type' in one ? `event: ${one.type}\n` : ''}data: ${JSON.stringify(one)}\n\n`,
  )
  answer = { type: 'text/event-stream', body: lines.join('') }
}

const chat = (message: object, choice: object = {}) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'tool_calls', ...choice, ...message }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const call = { id: 'call_1', type: 'function', function: { name: 'findOrder', arguments: '{"id":7}' } }
const thinking = { type: 'thinking', thinking: THOUGHT, signature: 'c2ln' }
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'findOrder', input: { id: 7 } }
const encrypted = {
  ...{ type: 'reasoning', id: 'rs_1', encrypted_content: 'ZW5j' },
  summary: [{ type: 'summary_text', text: THOUGHT }],
}

/** The answer of each provider with a thought and a call, by its documentation, and the part that it wants back. */
const PROVIDERS: [ModelChoice['provider'], object, (body: Parsed) => unknown, unknown][] = [
  [
    'openai-compatible',
    chat({ message: { role: 'assistant', content: '', reasoning_content: THOUGHT, tool_calls: [call] } }),
    ({ messages }) => messages.find(({ role }: Parsed) => role === 'assistant'),
    expect.objectContaining({
      reasoning_content: THOUGHT,
      tool_calls: [expect.objectContaining({ id: 'call_1' })],
    }),
  ],
  [
    'anthropic',
    {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use' },
      ...{ content: [thinking, toolUse], usage: { input_tokens: 1, output_tokens: 1 } },
    },
    ({ messages }) => messages.find(({ role }: Parsed) => role === 'assistant')?.content,
    [thinking, expect.objectContaining(toolUse)],
  ],
  [
    'google',
    {
      candidates: [
        {
          content: {
            role: 'model',
            parts: [
              { text: THOUGHT, thought: true },
              { functionCall: { name: 'findOrder', args: { id: 7 } }, thoughtSignature: 'c2ln' },
            ],
          },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    },
    ({ contents }) => contents.find(({ role }: Parsed) => role === 'model')?.parts,
    expect.arrayContaining([expect.objectContaining({ thoughtSignature: 'c2ln' })]),
  ],
  [
    'openai',
    {
      ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'o4-mini' },
      output: [
        encrypted,
        {
          ...{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'findOrder' },
          ...{ arguments: '{"id":7}', status: 'completed' },
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    ({ input }) => input.filter(({ type }: Parsed) => ['reasoning', 'function_call'].includes(type)),
    [
      expect.objectContaining({ type: 'reasoning', encrypted_content: 'ZW5j' }),
      expect.objectContaining({ type: 'function_call', call_id: 'call_1' }),
    ],
  ],
]

const choiceOf = (provider: ModelChoice['provider'], model = 'o4-mini'): ModelChoice => ({
  ...{ provider, model, baseUrl: server.url, apiKey: 'key-of-nobody' },
})
const client = createModelClient({ fetch })
const ask = async (choice: ModelChoice, conversation: ConversationItem[] = [], streams = false) => {
  asked = []
  const result = await client.ask(
    choice,
    modelRequest({
      tools: [parcelTool],
      conversation: [...modelRequest().conversation, ...conversation],
      ...(streams && { onDelta: () => {} }),
    }),
  )
  if (result.kind !== 'answered') throw new Error(JSON.stringify(result))
  return result.turn
}
const itemOf = (turn: Awaited<ReturnType<typeof ask>>): ConversationItem => ({
  ...{ role: 'assistant', text: turn.text },
  calls: turn.calls.map((one) => ({ ...one, result: { state: 'done', text: 'in Recife' } })),
  ...reasoningOf(turn),
})

describe.each(PROVIDERS)('what %s wants back with the call of a tool', (provider, body, given, expected) => {
  test('is given back to the same model, and to no other', async () => {
    json(body)
    const turn = await ask(choiceOf(provider))
    expect(turn).toMatchObject({ text: '', calls: [{ tool: 'findOrder' }] })
    await ask(choiceOf(provider), [itemOf(turn)])
    expect(given(asked[0])).toEqual(expected)
    await ask(choiceOf(provider, 'gpt-5-mini'), [itemOf(turn)])
    expect(JSON.stringify(asked[0])).not.toMatch(/c2ln|ZW5j|margin/)
  })
})

describe('what comes as a stream', () => {
  test('from a server of one’s own has its thoughts together', async () => {
    const delta = (one: object) => chat({ delta: one }, { finish_reason: null })
    events([
      delta({ role: 'assistant', reasoning_content: 'The margin ' }),
      delta({ reasoning_content: 'is 40%.' }),
      delta({ tool_calls: [{ index: 0, ...call }] }),
      chat({ delta: {} }),
    ])
    const choice = choiceOf('openai-compatible')
    const turn = await ask(choice, [], true)
    json(chat({ message: { role: 'assistant', content: 'ok' } }, { finish_reason: 'stop' }))
    await ask(choice, [itemOf(turn)])
    expect(asked[0].messages.at(-2)).toMatchObject({ reasoning_content: THOUGHT })
  })

  test('from Anthropic has its signature', async () => {
    events([
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: THOUGHT } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { ...toolUse, input: {} } },
      {
        type: 'content_block_delta',
        index: 1,
        delta: { type: 'input_json_delta', partial_json: '{"id":7}' },
      },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ])
    const choice = choiceOf('anthropic')
    const turn = await ask(choice, [], true)
    json(PROVIDERS[1]?.[1] as object)
    await ask(choice, [itemOf(turn)])
    expect(asked[0].messages[1].content[0]).toEqual(thinking)
  })

  test('from Google has the signature of its call', async () => {
    const [, body, given, expected] = PROVIDERS[2] as (typeof PROVIDERS)[number]
    events([body])
    const choice = choiceOf('google')
    const turn = await ask(choice, [], true)
    json(body)
    await ask(choice, [itemOf(turn)])
    expect(given(asked[0])).toEqual(expected)
  })

  test('from OpenAI has its encrypted reasoning', async () => {
    const [, body, given, expected] = PROVIDERS[3] as (typeof PROVIDERS)[number]
    const { output, ...response } = body as { output: { type: string }[] }
    const [reasoning, called] = output
    const summary = { item_id: 'rs_1', output_index: 0, summary_index: 0 }
    const part = { type: 'summary_text', text: THOUGHT }
    events([
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      {
        ...{ type: 'response.output_item.added', output_index: 0 },
        item: { ...reasoning, summary: [], encrypted_content: 'YmVndW4=' },
      },
      { type: 'response.reasoning_summary_part.added', ...summary, part: { ...part, text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...summary, delta: THOUGHT },
      { type: 'response.reasoning_summary_part.done', ...summary, part },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      { type: 'response.output_item.added', output_index: 1, item: { ...called, arguments: '' } },
      {
        ...{ type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1 },
        delta: '{"id":7}',
      },
      { type: 'response.output_item.done', output_index: 1, item: called },
      { type: 'response.completed', response: { ...response, output } },
    ])
    const choice = choiceOf('openai')
    const turn = await ask(choice, [], true)
    json(body)
    await ask(choice, [itemOf(turn)])
    expect(given(asked[0])).toEqual(expected)
  })
})

test('a thought that is too long is shortened where nothing signs it, and else left out', () => {
  const long = { kind: 'thought' as const, text: 'x'.repeat(100_000) }
  expect(reasoningText([long])?.length).toBeLessThan(9_000)
  expect(reasoningText([{ ...long, data: { anthropic: { signature: 's' } } }])).toBeUndefined()
  expect(reasoningText([{ kind: 'text' }, { kind: 'call' }])).toBeUndefined()
})

describe('what a model thought', () => {
  const line = agentLine()
  const reasoning = JSON.stringify([{ kind: 'thought', text: THOUGHT }, { kind: 'call' }])
  const thoughtful = () => {
    const result = modelTurn('', [toolCall('note')])
    return { ...result, turn: { ...result.turn, reasoning } }
  }
  const thoughtsIn = (conversation: ConversationItem[]) =>
    conversation.flatMap((item) => (item.role === 'assistant' ? (item.reasoning?.parts ?? []) : []))

  test('is there for the next turn, also after a crash, and for no other message', async () => {
    const conversations: ConversationItem[][] = []
    const system = line.start({
      model: ({ conversation }) => {
        conversations.push(conversation)
        return conversations.length === 1 ? thoughtful() : 'It is on its way.'
      },
      open: () => ({
        ...note(),
        isRepeatable: true,
        deliver: async () => {
          await hung.promise
          return { kind: 'answered', result: { state: 'done', text: 'noted' } }
        },
      }),
    })
    const hung = Promise.withResolvers<void>()
    system.publish('thoughtful')
    await system.until('thoughtful', ({ turns }) => turns?.length === 1)
    await system.kill()
    hung.resolve()
    await system.until('thoughtful')
    expect(conversations).toHaveLength(2)
    expect(thoughtsIn(conversations[1] ?? [])).toMatchObject([
      { kind: 'thought', text: THOUGHT },
      { kind: 'call' },
    ])
    system.publish('later')
    await system.until('later')
    expect(JSON.stringify(conversations[2])).not.toContain('margin')
    expect(JSON.stringify(system.sent)).not.toContain('margin')
  })

  test('is not in what is shown of a turn', () => {
    const { turn } = thoughtful()
    expect(turnOf({ ...turn, at: new Date() } as Turn)).not.toHaveProperty('reasoning')
  })
})
