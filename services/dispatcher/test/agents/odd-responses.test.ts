import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Listening, listen } from '@parley/local/testing/service-under-test'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import type { ModelResult } from '../../src/agents/model-client.ts'
import type { GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { localFetch, modelRequest, parcelTool } from './model-world.ts'

// Real answers of servers that speak OpenAI's chat completions: Ollama, vLLM, SGLang, LM Studio, OpenRouter, LiteLLM.

let server: Listening
let guarded: GuardedFetch
let answer: { type: string; text: string }

beforeAll(async () => {
  guarded = localFetch()
  server = await listen((req, res) => {
    req.resume().once('end', () => res.writeHead(200, { 'content-type': answer.type }).end(answer.text))
  })
})
afterAll(async () => {
  guarded.close()
  await server.close()
})

async function asked(more: object = {}): Promise<ModelResult> {
  const choice = { provider: 'openai-compatible' as const, model: 'm', baseUrl: server.url }
  const request = modelRequest({ tools: [parcelTool], ...more })
  return createModelClient({ fetch: guarded.fetch }).ask(choice, request)
}
const whole = (message: object, finish_reason = 'tool_calls') => {
  const choices = [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...message } }]
  answer = { type: 'application/json', text: JSON.stringify({ id: 'c', model: 'm', choices }) }
  return asked()
}
const DONE = 'data: [DONE]\n\n'
/** The deltas as a stream writes them, and what stands between. */
const stream = (parts: (object | string)[], end = DONE) => {
  const lines = parts.map((part) => (typeof part === 'string' ? part : `data: ${JSON.stringify(part)}\n\n`))
  answer = { type: 'text/event-stream', text: lines.join('') + end }
  return asked({ onDelta: () => undefined })
}
const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...{ id: 'c', model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
})
const calling = (...tool_calls: object[]) => chunk({ tool_calls })
const named = (args: unknown, more: object = {}) => ({
  ...{ id: 'call_1', type: 'function', ...more },
  function: { name: 'findOrder', arguments: args },
})
const callsOf = (result: ModelResult) => {
  if (result.kind !== 'answered') throw new Error(JSON.stringify(result))
  return result.turn.calls.map(({ tool, args }) => [tool, args])
}
const idsOf = (result: ModelResult) =>
  result.kind === 'answered' ? result.turn.calls.map(({ id }) => id) : []

describe('a call of a tool', () => {
  test.each<[string, unknown, string]>([
    ['as an object', { id: 7 }, '{"id":7}'],
    ['as a text in a text', JSON.stringify('{"id": 7}'), '{"id": 7}'],
    ['as null', null, ''],
    ['not at all', undefined, ''],
    ['as an empty text', '', ''],
    ['as the text null', 'null', '{}'],
    ['as an empty list', '[]', '{}'],
  ])('whose arguments come %s is made with them', async (_, given, args) => {
    expect(callsOf(await whole({ tool_calls: [named(given)] }))).toEqual([['findOrder', args]])
    const delta = calling(named(given, { index: 0 }))
    expect(callsOf(await stream([delta, chunk({}, 'tool_calls')]))).toEqual([['findOrder', args]])
  })

  test('whose arguments are an object has the numbers that were written', async () => {
    const text = JSON.stringify({
      id: 'c',
      choices: [{ index: 0, message: { tool_calls: [named({ id: 1 })] } }],
    })
    answer = { type: 'application/json', text: text.replace('"id":1}', '"id":1917043659912705296}') }
    expect(callsOf(await asked())).toEqual([['findOrder', '{"id":1917043659912705296}']])
  })

  test.each([[undefined], [null], ['']])('without an id (%p) gets one, each its own', async (id) => {
    const results = [
      await whole({ tool_calls: [named('{"id":1}', { id }), named('{"id":2}', { id })] }),
      await stream([
        calling(named('{"id":1}', { id, index: 0 })),
        calling(named('{"id":2}', { id, index: 1 })),
        chunk({}, 'tool_calls'),
      ]),
    ]
    for (const result of results) {
      expect(callsOf(result).map(([, args]) => args)).toEqual(['{"id":1}', '{"id":2}'])
      expect(new Set(idsOf(result)).size).toBe(2)
    }
  })

  test('ends an answer that says "stop", or gives no reason that is known', async () => {
    for (const reason of ['stop', 'function_call', 'eos'])
      expect(callsOf(await whole({ tool_calls: [named('{"id":1}')] }, reason))).toHaveLength(1)
  })
})

describe('calls side by side in a stream', () => {
  test.each<[string, object[]]>([
    [
      'that all have the index 0',
      [named('{"id":1}', { id: 'a', index: 0 }), named('{"id":2}', { id: 'b', index: 0 })],
    ],
    ['that have no index', [named('{"id":1}', { id: 'a' }), named('{"id":2}', { id: 'b' })]],
    ['that have the same id', [named('{"id":1}', { index: 0 }), named('{"id":2}', { index: 1 })]],
    [
      'whose indexes begin with 1',
      [named('{"id":1}', { id: 'a', index: 1 }), named('{"id":2}', { id: 'b', index: 2 })],
    ],
  ])('%s are two', async (_, calls) => {
    const one = [calling(...calls), chunk({}, 'tool_calls')]
    const each = [...calls.map((call) => calling(call)), chunk({}, 'tool_calls')]
    for (const parts of [one, each]) {
      const result = await stream(parts)
      expect(callsOf(result)).toEqual([
        ['findOrder', '{"id":1}'],
        ['findOrder', '{"id":2}'],
      ])
      expect(new Set(idsOf(result)).size).toBe(2)
    }
  })

  test('whose arguments come in pieces, without the id after the first, are put together', async () => {
    const piece = (index: number, args: string) => calling({ index, function: { arguments: args } })
    const parts = [
      calling(named('', { id: 'a', index: 0 })),
      ...[piece(0, '{"id"'), piece(0, ':1}')],
      calling(named(null, { id: 'b', index: 1 })),
      ...[piece(1, '{"id":'), piece(1, '2}'), chunk({}, 'tool_calls')],
    ]
    expect(callsOf(await stream(parts)).map(([, args]) => args)).toEqual(['{"id":1}', '{"id":2}'])
  })

  test('are not made twice where the end comes twice', async () => {
    const end = chunk({ content: '', role: 'assistant' }, 'tool_calls')
    expect(callsOf(await stream([calling(named('{"id":1}', { index: 0 })), end, end]))).toHaveLength(1)
  })
})

describe('a stream', () => {
  const said = async (result: Promise<ModelResult>) => {
    const found = await result
    return found.kind === 'answered' ? found.turn.text : found
  }

  test.each<[string, (object | string)[], string?]>([
    ['with comments', [': OPENROUTER PROCESSING\n\n', chunk({ content: 'Hi' }), chunk({}, 'stop')]],
    ['without a space after "data:"', [`data:${JSON.stringify(chunk({ content: 'Hi' }, 'stop'))}\n\n`]],
    [
      'with lines that end as on Windows',
      [`data: ${JSON.stringify(chunk({ content: 'Hi' }, 'stop'))}\r\n\r\n`],
    ],
    [
      'whose last chunk has no choices',
      [chunk({ content: 'Hi' }), chunk({}, 'stop'), { id: 'c', choices: [] }],
    ],
    ['without [DONE]', [chunk({ content: 'Hi' }), chunk({}, 'stop')], ''],
    ['whose usage is null', [{ ...chunk({ content: 'Hi' }, 'stop'), usage: null }]],
    [
      'whose role is repeated, and empty',
      [chunk({ role: '', content: 'H' }), chunk({ role: '', content: 'i' }, 'stop')],
    ],
    ['whose content is a list of parts', [chunk({ content: [{ type: 'text', text: 'Hi' }] }, 'stop')]],
  ])('%s is read', async (_, parts, end = DONE) => {
    expect(await said(stream(parts, end))).toBe('Hi')
  })
})
