import type { IncomingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import type { ModelChoice, ModelRequest } from '../../src/agents/model-client.ts'
import type { GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { localFetch, modelRequest, parcelTool } from './model-world.ts'
import { RECORDED, type Recorded } from './recorded.ts'

let server: Listening
let guarded: GuardedFetch
let answer: { status: number; type: string; body: string }
/** No double prints it. */
const LARGE = '1917043659912705296'
let written: string[] = []
let asked: { path: string; headers: IncomingHttpHeaders; body: Parsed }[] = []

beforeAll(async () => {
  guarded = localFetch()
  server = await listen(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    written.push(text)
    asked.push({ path: req.url ?? '', headers: req.headers, body: JSON.parse(text) })
    res.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body)
  })
})
afterAll(async () => {
  guarded.close()
  await server.close()
})
beforeEach(() => {
  asked = []
  written = []
})

const json = (body: object, status = 200) => {
  answer = { status, type: 'application/json', body: JSON.stringify(body) }
}
const events = (all: Recorded['streamedText']) => {
  const lines = all.map(([name, data]) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`
  })
  answer = { status: 200, type: 'text/event-stream', body: lines.join('') }
}
const ask = ({ provider }: Recorded, more: Partial<ModelRequest> = {}) => {
  const choice: ModelChoice = {
    provider,
    model: 'some-model',
    baseUrl: server.url,
    apiKey: 'key-of-nobody-4711',
    temperature: 0,
    maxOutputTokens: 500,
  }
  return createModelClient({ fetch: guarded.fetch }).ask(
    choice,
    modelRequest({ tools: [parcelTool], ...more }),
  )
}
const complete = {
  kind: 'answered',
  turn: { inputTokens: 36, outputTokens: 87, cachedTokens: 12, model: 'some-model' },
}
const withText = { turn: { finishReason: 'stop', text: 'Hello there', calls: [] } }
const withCall = {
  turn: { finishReason: 'tool-calls', text: '', calls: [{ tool: 'findOrder', args: '{"id":7}' }] },
}

describe.each(RECORDED.map((one) => [one.provider, one] as const))('the API of %s', (_name, recorded) => {
  test('is asked at its path, with its key, and with no address, key or model from elsewhere', async () => {
    json(recorded.text)
    process.env.OPENAI_BASE_URL = process.env.ANTHROPIC_BASE_URL = 'http://127.0.0.1:1'
    await ask(recorded)
    delete process.env.OPENAI_BASE_URL
    delete process.env.ANTHROPIC_BASE_URL
    const [name, value] = recorded.keyHeader
    expect(asked.map(({ path, headers }) => [path, headers[name]])).toEqual([[recorded.path, value]])
  })

  test('is given system text, conversation, results and tools in its own form', async () => {
    json(recorded.text)
    await ask(recorded, {
      conversation: [
        { role: 'data', json: '{"name":"Ana"}' },
        { role: 'person', text: 'Where is order 7?' },
        {
          role: 'assistant',
          text: 'A moment',
          calls: [
            {
              id: 'call_1',
              tool: 'findOrder',
              args: '{"id":7}',
              result: { state: 'done', status: 200, text: 'in Recife' },
            },
          ],
        },
      ],
    })
    expect(asked[0]?.body).toMatchObject(SENT[recorded.provider])
  })

  test('answers with text', async () => {
    json(recorded.text)
    const result = await ask(recorded)
    expect(result).toMatchObject(complete)
    expect(result).toMatchObject(withText)
  })

  test('calls a tool', async () => {
    json(recorded.call)
    const result = await ask(recorded)
    expect(result).toMatchObject(complete)
    expect(result).toMatchObject(withCall)
  })

  test('streams text', async () => {
    events(recorded.streamedText)
    const deltas: string[] = []
    const result = await ask(recorded, { onDelta: (text) => deltas.push(text) })
    expect(result).toMatchObject(complete)
    expect(result).toMatchObject(withText)
    expect(deltas).toEqual(['Hello', ' there'])
    expect(asked[0]?.path).toBe(recorded.streamPath ?? recorded.path)
  })

  test('streams the call of a tool', async () => {
    events(recorded.streamedCall)
    const result = await ask(recorded, { onDelta: () => {} })
    expect(result).toMatchObject(complete)
    expect(result).toMatchObject(withCall)
  })

  test('calls a tool with the numbers that the model wrote, and is given them back as such', async () => {
    const withLarge = (text: string) => text.replaceAll(/(:\s*)7\b/g, `$1${LARGE}`)
    const called = { turn: { calls: [{ tool: 'findOrder', args: `{"id":${LARGE}}` }] } }
    json(recorded.call)
    answer.body = withLarge(JSON.stringify(JSON.parse(answer.body), null, 2))
    expect(await ask(recorded)).toMatchObject(called)
    events(recorded.streamedCall)
    answer.body = withLarge(answer.body)
    expect(await ask(recorded, { onDelta: () => {} })).toMatchObject(called)
    const result = { state: 'done', text: 'in Recife' } as const
    const call = { id: 'call_1', tool: 'findOrder', args: `{"id":${LARGE}}`, result }
    json(recorded.text)
    await ask(recorded, { conversation: [{ role: 'assistant', text: '', calls: [call] }] })
    expect(written.at(-1)).toMatch(new RegExp(`id\\\\*":${LARGE}\\b`))
  })

  test('whose stream ends early may be asked again', async () => {
    events(recorded.streamedText.slice(0, 1))
    expect(await ask(recorded, { onDelta: () => {} })).toMatchObject({ kind: 'retryable' })
  })

  test('refuses with its own text, and without the key', async () => {
    const { status, body, text } = recorded.error
    json(body, status)
    expect(await ask(recorded)).toEqual({
      kind: 'refused',
      code: `http_${status}`,
      reason: `The provider answered ${status}: ${text}`,
    })
  })

  test('refuses content for good', async () => {
    json(recorded.refused)
    expect(await ask(recorded)).toMatchObject({ kind: 'refused', code: 'content_refused' })
  })

  test('that is overloaded may be asked again', async () => {
    json({ error: { message: 'Overloaded', type: 'overloaded_error' } }, 529)
    expect(await ask(recorded)).toMatchObject({ kind: 'retryable', code: 'http_529' })
  })
})

/** The request to each provider, as its documentation asks for it. */
const SENT: Record<ModelChoice['provider'], object> = {
  openai: {
    model: 'some-model',
    store: false,
    max_output_tokens: 500,
    input: [
      { role: 'system', content: 'You are Lia.' },
      { role: 'user', content: [{ type: 'input_text', text: '<data>\n{"name":"Ana"}\n</data>' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Where is order 7?' }] },
      { role: 'assistant', content: 'A moment' },
      { type: 'function_call', call_id: 'call_1', name: 'findOrder', arguments: '{"id":7}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'in Recife' },
    ],
    tools: [{ type: 'function', name: 'findOrder', parameters: parcelTool.inputSchema }],
  },
  anthropic: {
    model: 'some-model',
    max_tokens: 500,
    system: [{ type: 'text', text: 'You are Lia.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<data>\n{"name":"Ana"}\n</data>' },
          { type: 'text', text: 'Where is order 7?' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'A moment' },
          { type: 'tool_use', id: 'call_1', name: 'findOrder', input: { id: 7 } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: 'in Recife',
            cache_control: { type: 'ephemeral' },
          },
        ],
      },
    ],
    tools: [{ name: 'findOrder', description: 'Finds an order', input_schema: parcelTool.inputSchema }],
  },
  google: {
    systemInstruction: { parts: [{ text: 'You are Lia.' }] },
    generationConfig: { maxOutputTokens: 500 },
    contents: [
      { role: 'user', parts: [{ text: '<data>\n{"name":"Ana"}\n</data>' }] },
      { role: 'user', parts: [{ text: 'Where is order 7?' }] },
      {
        role: 'model',
        parts: [{ text: 'A moment' }, { functionCall: { name: 'findOrder', args: { id: 7 } } }],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'findOrder' } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'findOrder', description: 'Finds an order' }] }],
  },
  'openai-compatible': {
    model: 'some-model',
    max_tokens: 500,
    messages: [
      { role: 'system', content: 'You are Lia.' },
      { role: 'user', content: '<data>\n{"name":"Ana"}\n</data>' },
      { role: 'user', content: 'Where is order 7?' },
      {
        role: 'assistant',
        content: 'A moment',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'findOrder', arguments: '{"id":7}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'in Recife' },
    ],
    tools: [{ type: 'function', function: { name: 'findOrder', parameters: parcelTool.inputSchema } }],
  },
}
