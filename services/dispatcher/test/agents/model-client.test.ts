import { BlockList } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import type { ConversationItem } from '../../src/agents/model-client.ts'
import { createGuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { type ModelWorld, modelRequest, parcelTool, startModelWorld } from './model-world.ts'

let world: ModelWorld
beforeAll(async () => {
  world = await startModelWorld()
})
afterAll(() => world.close())
beforeEach(() => world.script())

/** Both ways to ask: for the whole answer, and for a stream of it. */
const manners = [
  ['whole', () => ({})],
  ['streamed', () => ({ onDelta: () => {} })],
] as const

describe.each(manners)('an answer that comes %s', (_name, manner) => {
  test('has text, tokens, time and why the model stopped', async () => {
    await world.script({
      text: 'Good day',
      usage: { prompt_tokens: 31, completion_tokens: 7, total_tokens: 38 },
    })
    const result = await world.ask(manner())
    expect(result).toEqual({
      kind: 'answered',
      turn: {
        provider: 'openai-compatible',
        model: 'simulator',
        inputTokens: 31,
        outputTokens: 7,
        ms: expect.any(Number),
        finishReason: 'stop',
        text: 'Good day',
        calls: [],
      },
    })
  })

  test('has the calls of tools, their arguments as the model wrote them', async () => {
    await world.script({
      text: 'A moment',
      calls: [{ id: 'c1', name: 'findOrder', arguments: '{"id": 1 }' }],
    })
    const result = await world.ask({ tools: [parcelTool], ...manner() })
    expect(result).toMatchObject({
      turn: {
        finishReason: 'tool-calls',
        text: 'A moment',
        calls: [{ id: 'c1', tool: 'findOrder', args: '{"id": 1 }' }],
      },
    })
  })

  test('may call a tool that nobody offered, with arguments that are no JSON, under ids that repeat', async () => {
    await world.script({
      calls: [
        { id: 'same', name: 'noSuchTool', arguments: '{"id": ' },
        { id: 'same', name: 'findOrder', arguments: '[1]' },
        { id: 'not/an id', name: 'findOrder', arguments: '' },
      ],
    })
    const earlier: ConversationItem = {
      role: 'assistant',
      text: '',
      calls: [{ id: 'same', tool: 'findOrder', args: '{}', result: { state: 'done', text: '1' } }],
    }
    const conversation = [...modelRequest().conversation, earlier]
    const result = await world.ask({ tools: [parcelTool], conversation, ...manner() })
    const calls = result.kind === 'answered' ? result.turn.calls : []
    expect(calls.map(({ tool }) => tool)).toEqual(['noSuchTool', 'findOrder', 'findOrder'])
    const ids = calls.map(({ id }) => id)
    expect(new Set([...ids, 'same']).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/)
    expect(calls[1]?.args).toBe('[1]')
  })

  test('may have a fraction of a millisecond of time, as models have that share the time of a turn', async () => {
    await world.script({ text: 'Hello.' })
    const result = await world.ask({ timeoutMs: 10_000 / 3, ...manner() })
    expect(result).toMatchObject({ kind: 'answered', turn: { text: 'Hello.' } })
  })

  test('may be empty', async () => {
    await world.script({ text: '' })
    expect(await world.ask(manner())).toMatchObject({ kind: 'answered', turn: { text: '', calls: [] } })
  })

  test.each([
    [
      'is cut in the middle',
      { text: 'half of this is missing', broken: 'half' },
      /bad_answer|no_answer|broken_stream/,
    ],
    ['is no JSON', { text: 'x', broken: 'malformed' }, /^(bad_answer|broken_stream)$/],
    ['has no body', { broken: 'nothing' }, /^(bad_answer|broken_stream)$/],
    ['is a cut connection', { broken: 'cut' }, /^no_answer$/],
    ['has 6 MB', { characters: 6_000_000 }, /^answer_too_large$/],
    ['has more text than a turn may have', { characters: 200_000 }, /^answer_too_large$/],
    [
      'calls a thousand tools',
      { calls: Array.from({ length: 1_000 }, () => ({ name: 'findOrder' })) },
      /^answer_too_large$/,
    ],
    [
      'has a reason to end that says it failed',
      { text: 'x', finishReason: 'content_filter' },
      /^content_refused$/,
    ],
  ])('that %s is a result, no exception', async (_name, scripted, code) => {
    await world.script(scripted)
    const result = await world.ask(manner())
    expect(result.kind === 'answered' ? result : result.code).toMatch(code)
    expect(result.kind).toBe('finishReason' in scripted ? 'refused' : 'retryable')
  })

  test.each([
    ['is refused', { text: 'x', finishReason: 'content_filter' }],
    ['is too large', { characters: 200_000 }],
    ['has no text and ends for no reason that is known', { text: '', finishReason: 'unheard_of' }],
  ])('that %s has taken the tokens that the provider says', async (_name, scripted) => {
    await world.script({
      ...scripted,
      usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1_000 },
    })
    expect(await world.ask(manner())).toMatchObject({ inputTokens: 900, outputTokens: 100 })
  })

  test.each([
    [408, undefined],
    [429, 7],
    [500, undefined],
    [503, 120],
  ])('with status %i may come later', async (status, retryAfterSeconds) => {
    await world.script({ error: { status, ...(retryAfterSeconds && { retryAfterSeconds }) } })
    const result = await world.ask(manner())
    expect(result).toMatchObject({ kind: 'retryable', code: `http_${status}` })
    expect(result).toHaveProperty('reason', `The provider answered ${status}: Failed as the script says`)
    expect('retryAfterSeconds' in result ? result.retryAfterSeconds : undefined).toBe(retryAfterSeconds)
    expect(await world.requests()).toHaveLength(1)
  })

  test.each([400, 401, 403, 404])('with status %i is final', async (status) => {
    await world.script({ error: { status, message: 'No.' } })
    expect(await world.ask(manner())).toEqual({
      kind: 'refused',
      code: `http_${status}`,
      reason: `The provider answered ${status}: No.`,
    })
  })

  test('that is a redirect is final, and not followed', async () => {
    await world.script({ error: { status: 307, location: `${world.url}/v1/chat/completions` } })
    expect(await world.ask(manner())).toMatchObject({ kind: 'refused', code: 'redirected' })
    expect(await world.requests()).toHaveLength(1)
  })

  test('that does not come in time may come later', async () => {
    await world.script({ broken: 'silent' })
    expect(await world.ask({ timeoutMs: 100, ...manner() })).toEqual({
      kind: 'retryable',
      code: 'timeout',
      reason: 'The model did not answer within 0.1 s.',
    })
  })

  test('that nobody waits for any more is cancelled', async () => {
    await world.script({ broken: 'silent' })
    const cancelling = new AbortController()
    const asked = world.ask({ signal: cancelling.signal, ...manner() })
    cancelling.abort()
    expect(await asked).toMatchObject({ kind: 'retryable', code: 'cancelled' })
  })
})

describe('a stream', () => {
  test('is the text in the end', async () => {
    await world.script({ text: 'one two three four five six' })
    const deltas: string[] = []
    const result = await world.ask({ onDelta: (text) => deltas.push(text) })
    expect(deltas.join('')).toBe('one two three four five six')
    expect(result).toMatchObject({ turn: { text: 'one two three four five six' } })
  })

  test.each([
    [true, 0],
    [false, 1],
  ])('of a model elsewhere is handed on at once unless it may reason (%s)', async (reasoning, begun) => {
    await world.script({ text: 'one two three four five', chunkDelayMs: 300 })
    const deltas: string[] = []
    await world.ask({ timeoutMs: 1_000, onDelta: (text) => deltas.push(text) }, { reasoning })
    expect(Math.min(deltas.length, 1)).toBe(begun)
  })

  test('that stands still is given up in time', async () => {
    await world.script({ text: 'one two three four five six seven', chunkDelayMs: 5_000 })
    expect(await world.ask({ timeoutMs: 300, onDelta: () => {} })).toMatchObject({ code: 'timeout' })
  })

  test('whose reader throws is a result, no exception', async () => {
    const onDelta = () => {
      throw new Error('the reader is gone')
    }
    expect(await world.ask({ onDelta })).toMatchObject({ kind: 'retryable', code: 'internal_error' })
  })
})

describe('what a provider says of an error', () => {
  const reasonFor = async (message: string, request = {}) => {
    await world.script({ error: { status: 400, message } })
    const result = await world.ask(request)
    return result.kind === 'answered' ? '' : result.reason
  }

  test.each([
    ['the key', 'Incorrect API key provided: a-key-of-nobody-4711.'],
    ['a part of the key', 'Incorrect API key provided: a-key-of…'],
    ['the key in a header', '{"authorization":"Bearer a-key-of-nobody-4711"}'],
    ['a masked key', 'Incorrect API key provided: sk-pr***********4711. You can find your key.'],
    ['a key of somebody', 'Use sk-proj-abc and AIzaSyA-bcd instead.'],
  ])('is shown without %s', async (_name, message) => {
    const reason = await reasonFor(message)
    expect(reason).toMatch(/^The provider answered 400: .*\[…\]/)
    expect(reason).not.toMatch(/nobody|4711|a-key|sk-pr|AIza/)
  })

  test('is shown without what stood in the prompt', async () => {
    const conversation: ConversationItem[] = [
      { role: 'data', json: '{"phone":"+55 11 98888-7777"}' },
      { role: 'person', text: 'Bom dia' },
      {
        role: 'assistant',
        text: 'Let me look that up for you',
        calls: [
          {
            id: 'c',
            tool: 'findOrder',
            args: '{"id":77}',
            result: { state: 'done', text: 'the parcel is in Recife' },
          },
        ],
      },
    ]
    const reason = await reasonFor(
      'Refused: "Your secret is tangerine" "+55 11 98888-7777" "Bom dia" "the parcel is in Recife" is not allowed.',
      { system: 'Your secret is tangerine, keep it.', conversation },
    )
    for (const part of ['tangerine', '98888', 'Bom dia', 'Recife']) expect(reason).not.toContain(part)
    expect(reason).toMatch(/^The provider answered 400: Refused: .* is not allowed\.$/)
  })

  test('is cut after 500 bytes, between characters', async () => {
    const reason = await reasonFor('é'.repeat(1_000))
    const text = reason.slice('The provider answered 400: '.length)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(500)
    expect(text).toMatch(/^é{240,}…$/)
  })

  test('does not take long to show beside a prompt of a million characters', async () => {
    const text = 'ab '.repeat(333_333)
    await world.script({ error: { status: 400, message: 'ab '.repeat(1_000) } })
    const started = performance.now()
    await world.ask({ conversation: [{ role: 'person', text }] })
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

describe('a base URL', () => {
  test.each(['http://127.0.0.1:9/v1', 'http://169.254.169.254/v1', 'http://[::1]:9/v1'])(
    'at %s is refused',
    async (baseUrl) => {
      const guarded = createGuardedFetch({ allowed: new BlockList(), maxSockets: 1, maxBytes: 1_000 })
      const client = createModelClient({ fetch: guarded.fetch })
      expect(await client.ask({ ...world.choice, baseUrl }, modelRequest())).toMatchObject({
        kind: 'refused',
        code: 'target_refused',
      })
      guarded.close()
    },
  )

  test('where nobody listens may be reached later', async () => {
    expect(await world.ask({}, { baseUrl: 'http://127.0.0.1:1/v1' })).toMatchObject({
      kind: 'retryable',
      code: 'not_reached',
    })
  })
})
