import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { ConversationItem } from '../../src/agents/model-client.ts'
import { turnItems } from '../../src/agents/turns/conversation-items.ts'
import { charactersOf, type Exchange, fitHistory, LEAST_RESULT } from '../../src/agents/turns/fit-history.ts'

const person = (text: string): ConversationItem => ({ role: 'person', text })
const assistant = (text: string, ...results: string[]): ConversationItem => ({
  role: 'assistant',
  text,
  calls: results.map((text, n) => ({
    id: `c${n}`,
    tool: 'find',
    args: '{}',
    result: { state: 'done', text },
  })),
})
const sizeOf = (exchanges: readonly Exchange[]) =>
  exchanges
    .filter(({ isRequired }) => !isRequired)
    .flatMap(({ items }) => items)
    .reduce((sum, item) => sum + charactersOf(item), 0)
const resultsOf = (exchanges: readonly Exchange[]) =>
  exchanges
    .flatMap(({ items }) => items)
    .flatMap((item) => (item.role === 'assistant' ? item.calls : []))
    .map(({ result }) => result)

describe('what a model is given of the conversation', () => {
  const long = 'x'.repeat(16_384)

  test('has the question of the assistant after two results of 16 KiB', () => {
    const asked = [person('Where is it?'), assistant('', long, long), assistant('Shall I send it again?')]
    const [fitted] = fitHistory([{ items: asked }], 8_000)
    expect(fitted?.items.map((item) => item.role !== 'data' && item.text)).toEqual([
      'Where is it?',
      '',
      'Shall I send it again?',
    ])
    const results = resultsOf(fitted === undefined ? [] : [fitted])
    expect(results[1]).toEqual({ state: 'done', text: long })
    expect(results[0]?.cut).toBe(true)
  })

  test('has short results of old messages before old messages are left out', () => {
    const exchange = (n: number) => ({
      items: [person(`said ${n}`), assistant('', long), assistant('Well.')],
    })
    const fitted = fitHistory([1, 2, 3].map(exchange), 5_000)
    expect(fitted).toHaveLength(3)
    expect(resultsOf(fitted).map(({ text }) => text.length)).toEqual([
      LEAST_RESULT,
      20_000 - 16_384 - LEAST_RESULT - 3 * (6 + 6 + 5),
      16_384,
    ])
  })

  test('has the end of the newest message where it is longer than all that fits', () => {
    const fitted = fitHistory(
      [{ items: [person('before')] }, { items: [person(long), assistant(`${'a'.repeat(100)} Which size?`)] }],
      10,
    )
    expect(fitted).toEqual([{ items: [assistant(`${'a'.repeat(28)} Which size?`)] }])
  })

  const text = fc
    .integer({ min: 0, max: 900 })
    .map((length) => '😀x'.repeat(length).slice(0, length).toWellFormed())
  const item = fc.oneof(
    text.map(person),
    fc.tuple(text, fc.array(text, { maxLength: 3 })).map(([said, results]) => assistant(said, ...results)),
  )
  const exchange = fc.record({
    items: fc.array(item, { minLength: 1, maxLength: 4 }),
    isRequired: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  })

  test('never exceeds its tokens, always has the newest message, and no call without its result', () => {
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 8 }), fc.nat(2_000), (exchanges, tokens) => {
        const fitted = fitHistory(exchanges, tokens)
        expect(sizeOf(fitted)).toBeLessThanOrEqual(tokens * 4)
        expect(fitted.filter(({ isRequired }) => isRequired)).toEqual(
          exchanges.filter(({ isRequired }) => isRequired),
        )
        const own = exchanges.filter(({ isRequired }) => !isRequired)
        const given = fitted.filter(({ isRequired }) => !isRequired)
        // It is the end of the conversation, without a gap.
        const end = own.slice(own.length - given.length)
        for (const [n, { items }] of given.slice(1).entries())
          expect(items).toHaveLength(end[n + 1]?.items.length ?? 0)
        if (tokens > 0 && own.length > 0) expect(given.length).toBeGreaterThan(0)
        for (const { items } of given)
          for (const one of items)
            if (one.role === 'assistant')
              expect(one.calls.every(({ result }) => result !== undefined)).toBe(true)
        for (const { items } of given)
          for (const one of items) if (one.role !== 'data') expect(one.text.isWellFormed()).toBe(true)
      }),
    )
  })

  test('shortens no result as long as all fits, and none before those that are older', () => {
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 8 }), fc.nat(4_000), (exchanges, tokens) => {
        const fitted = fitHistory(exchanges, tokens)
        if (sizeOf(exchanges) <= tokens * 4 && tokens > 0) expect(fitted).toEqual(exchanges)
        const results = resultsOf(fitted.filter(({ isRequired }) => !isRequired))
        const longer = results.findIndex(({ text }) => text.length > LEAST_RESULT + 1)
        const after = longer === -1 ? [] : results.slice(longer + 1)
        expect(after.filter(({ cut }) => cut)).toEqual([])
      }),
    )
  })
})

test('of a message at which many tools were called, the results of the first calls are shortened', () => {
  const calls = (n: number) => ({
    id: `c${n}`,
    tool: 'find',
    args: '{}',
    result: { state: 'done' as const, text: 'x'.repeat(16_384) },
  })
  const turns = Array.from({ length: 20 }, (_, n) => ({
    text: '',
    provider: 'openai',
    model: 'm',
    calls: [calls(n)],
  }))
  const items = turnItems({ turns, sends: [] }, { isCurrent: true })
  const lengths = resultsOf([{ items }]).map(({ text }) => text.length)
  expect(lengths[0]).toBe(LEAST_RESULT)
  expect(lengths.at(-1)).toBe(16_384)
  expect(sizeOf([{ items }])).toBeLessThanOrEqual(128 * 1024)
})
