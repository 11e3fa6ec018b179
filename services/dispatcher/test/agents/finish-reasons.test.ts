import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Listening, listen } from '@parley/local/testing/service-under-test'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import type { ModelChoice, ModelRequest } from '../../src/agents/model-client.ts'
import { unlessSilent } from '../../src/agents/turns/silence.ts'
import type { GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { localFetch, modelRequest, parcelTool } from './model-world.ts'

let server: Listening
let guarded: GuardedFetch
let answer: object | string = {}

beforeAll(async () => {
  guarded = localFetch()
  server = await listen((req, res) => {
    req.resume().once('end', () => {
      const type = typeof answer === 'string' ? 'text/event-stream' : 'application/json'
      res.writeHead(200, { 'content-type': type })
      res.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    })
  })
})
afterAll(async () => {
  guarded.close()
  await server.close()
})

type Provider = ModelChoice['provider']

async function ask(provider: Provider, given: object | string, request: Partial<ModelRequest> = {}) {
  answer = given
  const choice = { provider, model: 'm', baseUrl: server.url, apiKey: 'key-of-nobody-4711' }
  const more = typeof given === 'string' ? { onDelta: () => {} } : {}
  const result = await createModelClient({ fetch: guarded.fetch }).ask(
    choice,
    modelRequest({ tools: [parcelTool], ...more, ...request }),
  )
  return unlessSilent(result, { isSpoken: false, isLast: true })
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const compatible = (message: object, finish_reason: string | null) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage },
  choices: [{ index: 0, finish_reason, message: { role: 'assistant', ...message } }],
})
const chunks = (deltas: object[], finish_reason: string | null) =>
  `${[...deltas.map((delta) => ({ delta, finish_reason: null })), { delta: {}, finish_reason }]
    .map((choice) => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, ...choice }],
    }))
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('')}data: [DONE]\n\n`
const google = (candidate: object | undefined, more = {}) => ({
  ...(candidate && { candidates: [{ index: 0, ...candidate }] }),
  usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 },
  ...more,
})
const said = (text: string) => ({ content: { role: 'model', parts: [{ text }] } })
const anthropic = (content: object[], stop_reason: string | null) => ({
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_sequence: null },
  ...{ content, stop_reason, usage: { input_tokens: 1, output_tokens: 1 } },
})
const openai = (output: object[], more: object) => ({
  ...{ id: 'r', object: 'response', created_at: 1, model: 'm', error: null, incomplete_details: null },
  ...{ output, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }, ...more },
})
const outputText = (content: object[]) => ({
  type: 'message',
  id: 'o',
  role: 'assistant',
  status: 'completed',
  content,
})

const CUT = 'It left today. It will arr'

test.each<[string, Provider, object | string]>([
  ['nothing', 'openai-compatible', compatible({ content: '' }, 'stop')],
  ['null', 'openai-compatible', compatible({ content: null }, 'stop')],
  ['white space', 'openai-compatible', compatible({ content: ' \n\t' }, 'stop')],
  ['a refusal', 'openai-compatible', compatible({ content: null, refusal: 'I will not.' }, 'stop')],
  ['reasoning alone', 'openai-compatible', compatible({ content: '', reasoning_content: 'Hm.' }, 'stop')],
  ['a thought alone', 'openai-compatible', compatible({ content: '<think>Hm.</think>' }, 'stop')],
  ['a thought without end', 'openai-compatible', compatible({ content: '<think>Hm.' }, 'length')],
  ['no calls', 'openai-compatible', compatible({ content: '', tool_calls: [] }, 'tool_calls')],
  ['a filter', 'openai-compatible', compatible({ content: 'It is' }, 'content_filter')],
  ['no reason', 'openai-compatible', compatible({ content: '' }, null)],
  ['an unknown reason', 'openai-compatible', compatible({ content: '' }, 'abort')],
  ['an empty stream', 'openai-compatible', chunks([{ role: 'assistant', content: '' }], 'stop')],
  ['streamed reasoning alone', 'openai-compatible', chunks([{ reasoning_content: 'Hm.' }], 'stop')],
  ['streamed white space', 'openai-compatible', chunks([{ content: ' ' }, { content: '\n' }], 'stop')],
  ['a stream cut off', 'openai-compatible', chunks([{ content: 'It w' }], 'length')],
  ['SAFETY', 'google', google({ finishReason: 'SAFETY' })],
  ['RECITATION', 'google', google({ ...said('It is'), finishReason: 'RECITATION' })],
  ['PROHIBITED_CONTENT', 'google', google({ finishReason: 'PROHIBITED_CONTENT' })],
  ['BLOCKLIST', 'google', google({ finishReason: 'BLOCKLIST' })],
  ['SPII', 'google', google({ finishReason: 'SPII' })],
  ['UNEXPECTED_TOOL_CALL', 'google', google({ finishReason: 'UNEXPECTED_TOOL_CALL' })],
  ['OTHER', 'google', google({ finishReason: 'OTHER' })],
  ['MAX_TOKENS before any text', 'google', google({ content: {}, finishReason: 'MAX_TOKENS' })],
  ['STOP without parts', 'google', google({ content: { role: 'model' }, finishReason: 'STOP' })],
  ['a prompt that is blocked', 'google', google(undefined, { promptFeedback: { blockReason: 'SAFETY' } })],
  [
    'thoughts alone',
    'google',
    google({ content: { role: 'model', parts: [{ text: 'Hm.', thought: true }] }, finishReason: 'STOP' }),
  ],
  ['no content', 'anthropic', anthropic([], 'end_turn')],
  ['a refusal', 'anthropic', anthropic([], 'refusal')],
  ['a refusal after words', 'anthropic', anthropic([{ type: 'text', text: 'It is' }], 'refusal')],
  ['pause_turn without text', 'anthropic', anthropic([], 'pause_turn')],
  [
    'thinking alone',
    'anthropic',
    anthropic([{ type: 'thinking', thinking: 'Hm.', signature: 's' }], 'max_tokens'),
  ],
  ['a full context', 'anthropic', anthropic([], 'model_context_window_exceeded')],
  ['no output', 'openai', openai([], { status: 'completed' })],
  [
    'a refusal',
    'openai',
    openai([outputText([{ type: 'refusal', refusal: 'I will not.' }])], { status: 'completed' }),
  ],
  [
    'reasoning alone',
    'openai',
    openai([{ type: 'reasoning', id: 'rs', summary: [] }], {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    }),
  ],
  [
    'a filter',
    'openai',
    openai([], { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }),
  ],
])('%s of %s is no answer, and another model is asked at once', async (_what, provider, given) => {
  const result = await ask(provider, given)
  expect(result).toMatchObject({ kind: 'refused' })
})

test.each<[string, Provider, object | string]>([
  ['[DONE] alone', 'openai-compatible', 'data: [DONE]\n\n'],
  ['no choice', 'openai-compatible', { ...compatible({}, 'stop'), choices: [] }],
  ['MALFORMED_FUNCTION_CALL', 'google', google({ finishReason: 'MALFORMED_FUNCTION_CALL' })],
])('%s of %s is broken, and asked for again', async (_what, provider, given) => {
  expect(await ask(provider, given)).toMatchObject({ kind: 'retryable' })
})

test.each<[Provider, object | string]>([
  ['openai-compatible', compatible({ content: CUT }, 'length')],
  ['openai-compatible', chunks([{ content: CUT }], 'length')],
  ['google', google({ ...said(CUT), finishReason: 'MAX_TOKENS' })],
  ['anthropic', anthropic([{ type: 'text', text: CUT }], 'max_tokens')],
  ['anthropic', anthropic([{ type: 'text', text: CUT }], 'model_context_window_exceeded')],
  [
    'openai',
    openai([outputText([{ type: 'output_text', text: CUT, annotations: [] }])], {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    }),
  ],
])('what %s cuts off ends at its last sentence', async (provider, given) => {
  expect(await ask(provider, given)).toMatchObject({ kind: 'answered', turn: { text: 'It left today.' } })
})

test.each([
  ['as they are', '{"user":{"phone":"55 <1>"}}'],
  ['as it read them', '{"user":{"phone":"55 \\u003c1>"}}'],
])('facts that a model repeats, %s, do not leave', async (_how, repeated) => {
  const conversation: ModelRequest['conversation'] = [
    { role: 'data', json: '{"user":{"phone":"55 <1>"}}' },
    { role: 'person', text: 'Hello' },
  ]
  const repeats = (content: string) =>
    ask('openai-compatible', compatible({ content }, 'stop'), { conversation })
  expect(await repeats(`${repeated}\nGood day.`)).toMatchObject({ turn: { text: '\nGood day.' } })
  expect(await repeats(repeated)).toMatchObject({ kind: 'refused', code: 'empty_answer' })
})
