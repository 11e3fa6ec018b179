import { describe, expect, test } from '@jest/globals'
import { placeOf, planConversations } from '../load/conversations.ts'
import type { FunctionCall } from '../load/function-endpoint.ts'
import type { StoredCall } from '../system/message-store.ts'
import { countCalls, countEnded, judge, modelCounts } from './conversations.ts'

describe('the functions of conversations', () => {
  const planned = [0, 1].map((sequence) => ({ thread: 0, sequence }))
  const call = (sequence: number, changes: Partial<FunctionCall> = {}): FunctionCall => ({
    thread: 0,
    sequence,
    id: `id-${sequence}`,
    began: sequence,
    ended: sequence + 1,
    status: 200,
    ...changes,
  })
  const result = (sequence: number, given: StoredCall['result'] = { state: 'done' }): StoredCall => ({
    tool: 'book',
    args: JSON.stringify({ thread: 0, sequence }),
    ...(given && { result: given }),
  })
  const whole = {
    once: 2,
    ...{ doubled: 0, undone: 0, missing: 0, uncertain: 0, overlapping: 0, changed: 0 },
    ...{ threadsOutOfOrder: 0, repeated: 0 },
  }
  const effects = (...counts: number[]) => new Map(counts.map((count, at) => [`0:${at}`, count]))
  const both = [call(0), call(1)]
  const done = [result(0), result(1)]
  const uncertain = { state: 'failed', uncertain: true } as const

  test.each<[string, Parameters<typeof countCalls>[0], object]>([
    ['once each', { calls: both, ledger: effects(1, 1), results: done }, {}],
    ['twice', { calls: both, ledger: effects(2, 1), results: done }, { once: 1, doubled: 1 }],
    [
      'and not done, as the model reads',
      { calls: both, ledger: effects(0, 1), results: [result(0, { state: 'failed' }), result(1)] },
      { once: 1, undone: 1 },
    ],
    [
      'and perhaps done, as the model reads',
      { calls: both, ledger: effects(0, 1), results: [result(0, uncertain), result(1, uncertain)] },
      { once: 1, undone: 1, uncertain: 2 },
    ],
    [
      'without an effect that is reported',
      { calls: both, ledger: effects(0, 1), results: done },
      { once: 1, missing: 1 },
    ],
    [
      'with an effect that is not',
      { calls: both, ledger: effects(1, 1), results: [result(0, { state: 'failed' }), result(1)] },
      { missing: 1 },
    ],
    [
      'with an effect that is not, of what may be made again by its method',
      {
        calls: both,
        ledger: effects(1, 1),
        results: [{ ...result(0, { state: 'failed' }), tool: 'check' }, result(1)],
      },
      {},
    ],
    [
      'with an effect that is not, of what may be made again under its key only',
      {
        calls: both,
        ledger: effects(1, 1),
        results: [{ ...result(0, { state: 'failed' }), tool: 'confirm' }, result(1)],
      },
      { missing: 1 },
    ],
    ['and not reported', { calls: both, ledger: effects(1, 1), results: [result(0)] }, { missing: 1 }],
    [
      'twice at the same time',
      {
        calls: [call(0, { ended: 9 }), call(0, { began: 8 }), call(1)],
        ledger: effects(1, 1),
        results: done,
      },
      { overlapping: 1, repeated: 1 },
    ],
    [
      'with other arguments',
      { calls: [call(0), call(1, { id: 'id-0', began: 5 })], ledger: effects(1, 1), results: done },
      { changed: 1, repeated: 1 },
    ],
    [
      'out of order',
      { calls: [call(1), call(0)], ledger: effects(1, 1), results: done },
      { threadsOutOfOrder: 1 },
    ],
  ])('that are called %s are counted as that', (_name, given, changes) => {
    expect(countCalls(given, planned)).toEqual({ ...whole, ...changes })
  })
})

test.each([
  ['one receipt', 'The tools said: receipt 7/0', { thread: 7, sequence: 0 }],
  ['several receipts', 'receipt 7/0; receipt 7/1; receipt 7/2', { thread: 7, sequence: 2 }],
  ['none', 'You said: hello', undefined],
])('the step of a text with %s', (_name, text, place) => {
  expect(placeOf(text)).toEqual(place)
})

test('conversations end where their last text arrives once', () => {
  const received = [
    { thread: 0, sequence: 1 },
    { thread: 0, sequence: 2 },
    { thread: 1, sequence: 2 },
    { thread: 1, sequence: 2 },
    { thread: 2, sequence: 1 },
  ]
  const counted = countEnded(received, { conversations: 3, unreadable: 1 })
  expect(counted).toEqual({ conversations: 3, once: 1, unreadable: 1 })
})

test('every other conversation asks for all of its functions in one message', () => {
  const places = planConversations({ run: 'r', conversations: 2 }).map((messages) =>
    messages.map(({ sequence }) => sequence),
  )
  expect(places).toEqual([[2], [0, 1, 2]])
})

describe("a model's calls that are neither a stored turn nor a stored failure were repeated", () => {
  const asked = (text: string, ...times: number[]) => times.map((at) => ({ text, at }))
  const results = [
    { text: 'a', turns: 2, failures: 1 },
    { text: 'b', turns: 1, failures: 0 },
  ]
  const killed = (victim: string, at: number, until = at) => ({ victim, at, until })
  const requests = [...asked('a', 100_000, 100_200, 100_500, 130_000), ...asked('b', 200_000)]

  test.each<[string, number, ReturnType<typeof killed>[]]>([
    ['a kill between the calls of a message explains one of its own', 0, [killed('dispatcher-2', 110_000)]],
    ['so does an outage of the store', 0, [killed('mongodb', 90_000, 96_000)]],
    ['none explains none', 1, []],
    ['a kill while another message was worked explains none', 1, [killed('dispatcher', 200_000)]],
    ['the broker loses no call', 1, [killed('rabbitmq', 110_000)]],
  ])('%s', (_, unexplained, kills) => {
    const counts = modelCounts({ requests, results, kills })
    expect(counts).toEqual({ calls: 5, stored: 3, failed: 1, repeated: 1, unexplained })
  })

  test('one kill costs a message one call, not two', () => {
    const kills = [killed('dispatcher', 120_000)]
    const twice = modelCounts({ requests: [...requests, ...asked('a', 130_100)], results, kills })
    expect(twice).toMatchObject({ repeated: 2, unexplained: 1 })
  })
})

describe('the verdict on conversations', () => {
  const reconciliation = {
    posted: 4,
    accepted: 4,
    arrived: 4,
    once: 4,
    doubled: 0,
    missing: 0,
    threadsOutOfOrder: 0,
  }
  const functions = {
    once: 6,
    doubled: 0,
    undone: 0,
    uncertain: 0,
    missing: 0,
    overlapping: 0,
    changed: 0,
    threadsOutOfOrder: 0,
    repeated: 3,
  }
  const figures = {
    reconciliation,
    functions,
    ended: { conversations: 2, once: 2, unreadable: 0 },
    model: { calls: 100, stored: 95, failed: 3, repeated: 2, unexplained: 0 },
    states: { delivered: 4 },
  }
  const planned = { messages: 4, functions: 6 }

  test('has nothing to say where all held', () => {
    expect(judge(figures, planned)).toEqual([])
  })

  test.each<[string, object]>([
    ['did not end', { ended: { conversations: 2, once: 1, unreadable: 0 } }],
    ['out of order', { reconciliation: { ...reconciliation, threadsOutOfOrder: 1 } }],
    ['lost, doubled', { ended: { conversations: 2, once: 2, unreadable: 1 } }],
    ['ended delivered', { states: { delivered: 3, dead: 1 } }],
    ['effect twice', { functions: { ...functions, doubled: 1 } }],
    ['id of another one', { functions: { ...functions, changed: 1 } }],
    ['not known', { functions: { ...functions, uncertain: 1 } }],
    ['at the same time', { functions: { ...functions, overlapping: 1 } }],
    ['Functions were lost', { functions: { ...functions, missing: 1 } }],
    ['Functions were called out of order', { functions: { ...functions, threadsOutOfOrder: 1 } }],
    ['without a kill', { model: { ...figures.model, unexplained: 1 } }],
  ])('says "%s"', (part, changes) => {
    expect(judge({ ...figures, ...changes }, planned)).toEqual([expect.stringContaining(part)])
  })
})
