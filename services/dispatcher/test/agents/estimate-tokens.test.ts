import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { countedResult } from '../../src/agents/usage/counted-result.ts'
import { estimatePrompt, estimateTokens } from '../../src/agents/usage/estimate-tokens.ts'
import { modelTurn } from './agent-system.ts'
import { modelRequest, parcelTool } from './model-world.ts'

describe('the tokens of a text by the estimate', () => {
  // Counted by o200k_base and cl100k_base, of which the larger number stands here.
  test.each([
    ['English', 'The parcel left our warehouse yesterday and should arrive on Friday.', 13],
    ['Portuguese', 'Olá! Quero saber onde está a minha encomenda, por favor.', 17],
    ['Russian', 'Здравствуйте, где моя посылка?', 14],
    ['Chinese', '你好，我的包裹在哪里？我想知道什么时候能到。', 30],
    ['Japanese', 'こんにちは、荷物はどこですか。', 13],
    ['digits', '5511922222222 5511933333333', 11],
    ['base64', 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk', 42],
    ['JSON', '{"order":"4711","state":"on its way","items":[{"id":1},{"id":2}]}', 25],
    ['emoji', '😀🎉🚀👩‍👩‍👧‍👦', 24],
    ['one character for long', 'a'.repeat(16_000), 2_000],
    ['spaces', ' '.repeat(16_000), 200],
  ])('is not less than those of %s', (_name, text, tokens) =>
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(tokens),
  )

  test('is less than twice those of English prose', () =>
    expect(
      estimateTokens('The parcel left our warehouse yesterday and should arrive on Friday.'),
    ).toBeLessThan(2 * 13 + 6))

  test('is between a quarter of the characters and one for each byte, whatever the text', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), (text) => {
        const tokens = estimateTokens(text)
        expect(tokens).toBeGreaterThanOrEqual(Math.floor(text.length / 4))
        expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text) * 2)
      }),
    ))

  test('takes a moment for a megabyte', () => {
    const text = 'Ação 漢 x1 '.repeat(100_000)
    const started = performance.now()
    estimateTokens(text)
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})

describe('the tokens of a request by the estimate', () => {
  const choice = { provider: 'openai' as const, model: 'm', vision: true }
  const prompt = (more: Parameters<typeof modelRequest>[0]) => estimatePrompt(choice, modelRequest(more))

  test('grow with all that is sent: tools, calls and their results, data, images', () => {
    const bare = prompt({})
    const call = {
      id: '1',
      tool: 'x',
      args: 'a'.repeat(300),
      result: { state: 'done' as const, text: 'b'.repeat(300) },
    }
    expect(prompt({ tools: [parcelTool] }) - bare).toBeGreaterThan(30)
    expect(prompt({ conversation: [{ role: 'assistant', text: '', calls: [call] }] })).toBeGreaterThan(200)
    expect(prompt({ conversation: [{ role: 'data', json: '<'.repeat(100) }] })).toBeGreaterThan(600)
    const image = { role: 'person' as const, text: '', image: { source: 'meta', mediaId: 'i' } }
    expect(prompt({ conversation: [image] }) - bare).toBeGreaterThan(1_000)
    expect(
      estimatePrompt({ ...choice, vision: false }, modelRequest({ conversation: [image] })),
    ).toBeLessThan(100)
  })
})

describe('what a call took', () => {
  const estimate = () => ({ prompt: 500 })
  const counted = (result: Parameters<typeof countedResult>[0], received: string[] = []) =>
    countedResult(result, { estimate, received }).tokens
  const turn = (inputTokens: number, outputTokens: number) => {
    const { kind, turn: said } = modelTurn('Good morning to you.')
    return { kind, turn: { ...said, inputTokens, outputTokens } }
  }
  const failed = (code: string, more = {}) => ({ kind: 'retryable' as const, code, reason: '', ...more })

  test('is what the provider says', () =>
    expect(counted(turn(10, 5))).toEqual({ inputTokens: 10, outputTokens: 5 }))

  test.each([0, -3, Number.NaN, Number.POSITIVE_INFINITY, 1.5])(
    'is the estimate where it says %p',
    (nonsense) => {
      const { result, tokens } = countedResult(turn(nonsense, nonsense), { estimate, received: [] })
      expect(tokens.inputTokens).toBe(500)
      expect(tokens.outputTokens).toBeGreaterThanOrEqual(5)
      expect(result).toMatchObject({ turn: tokens })
    },
  )

  test.each(['http_500', 'http_401', 'not_reached', 'target_refused'])('is nothing after %s', (code) =>
    expect(counted(failed(code))).toEqual({ inputTokens: 0, outputTokens: 0 }),
  )

  test.each(['timeout', 'no_answer', 'broken_stream', 'bad_answer', 'cancelled', 'answer_too_large'])(
    'is what was sent and received after %s',
    (code) => {
      expect(counted(failed(code))).toEqual({ inputTokens: 500, outputTokens: 0 })
      expect(counted(failed(code), ['Good ', 'morning'])).toEqual({ inputTokens: 500, outputTokens: 6 })
      expect(counted(failed(code, { inputTokens: 900, outputTokens: 7 }))).toEqual({
        ...{ inputTokens: 900, outputTokens: 7 },
      })
    },
  )
})
