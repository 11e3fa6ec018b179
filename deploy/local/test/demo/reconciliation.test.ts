import { describe, expect, test } from '@jest/globals'
import { planThreads, readVariables } from '@parley/local/demo/demo-plan'
import { isReconciled, latencies, percentile, reconcile, uncounted } from '@parley/local/demo/reconciliation'

const posted = (thread: number, sequence: number) => ({
  thread,
  sequence,
  postedAt: 10,
  acceptedAt: 20 as number | undefined,
  repeats: 0,
})
const unanswered = (thread: number, sequence: number) => ({
  ...posted(thread, sequence),
  acceptedAt: undefined,
})
const arrival = (thread: number, sequence: number, at = 100) => ({ thread, sequence, at })
const four = [posted(0, 0), posted(0, 1), posted(1, 0), posted(1, 1)]

describe('reconciliation', () => {
  test('succeeds when each message arrived once and in the order of its thread', () => {
    const table = reconcile(four, [arrival(1, 0), arrival(0, 0), arrival(0, 1), arrival(1, 1)])
    expect(table).toEqual({
      posted: 4,
      accepted: 4,
      arrived: 4,
      once: 4,
      doubled: 0,
      missing: 0,
      threadsOutOfOrder: 0,
    })
    expect(isReconciled(table, 4)).toBe(true)
    expect(isReconciled(table, 5)).toBe(false)
  })

  test.each<[string, [number, number][], object]>([
    [
      'one missing',
      [
        [0, 0],
        [0, 1],
        [1, 0],
      ],
      { missing: 1, once: 3 },
    ],
    [
      'one doubled',
      [
        [0, 0],
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
      ],
      { doubled: 1, once: 3, arrived: 5 },
    ],
    [
      'a repeat of an older one is doubled, not out of order',
      [
        [0, 0],
        [0, 1],
        [0, 0],
        [1, 0],
        [1, 1],
      ],
      { doubled: 1, threadsOutOfOrder: 0 },
    ],
    [
      'one thread out of order',
      [
        [0, 1],
        [0, 0],
        [1, 0],
        [1, 1],
      ],
      { threadsOutOfOrder: 1, once: 4 },
    ],
    [
      'a stranger',
      [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [7, 7],
      ],
      { arrived: 5, once: 4 },
    ],
    ['nothing', [], { missing: 4, arrived: 0 }],
  ])('fails with %s', (_name, places, expected) => {
    const table = reconcile(
      four,
      places.map(([thread, sequence]) => arrival(thread, sequence)),
    )
    expect(table).toMatchObject(expected)
    expect(isReconciled(table, 4)).toBe(false)
  })

  test('fails when a post got no 200', () => {
    const table = reconcile([unanswered(0, 0)], [arrival(0, 0)])
    expect(table).toMatchObject({ accepted: 0, once: 1 })
    expect(isReconciled(table, 1)).toBe(false)
  })
})

test('latencies run from the post to the response and to the first arrival', () => {
  const received = [arrival(0, 0, 60), arrival(0, 0, 90), arrival(0, 1, 9)]
  expect(latencies([posted(0, 0), unanswered(0, 1), posted(0, 2)], received)).toEqual({
    response: [10, 10],
    arrival: [50, 0],
  })
})

test.each([
  [[], 0.5, undefined],
  [[7], 0.99, 7],
  [[3, 1, 2], 0.5, 2],
  [Array.from({ length: 100 }, (_, at) => 100 - at), 0.99, 99],
])('percentile of %j at %d', (values, share, expected) => {
  expect(percentile(values, share)).toBe(expected)
})

describe('the plan', () => {
  test('spreads the messages over the threads, each with its place in the variables', () => {
    const threads = planThreads({ messages: 7, threads: 3, run: 'r' })
    expect(threads.map((thread) => thread.length)).toEqual([3, 2, 2])
    expect(threads.flat().map(({ key }) => key)).toHaveLength(
      new Set(threads.flat().map(({ key }) => key)).size,
    )
    for (const message of threads.flat()) {
      const { answer } = message.body as { answer: { functions: { args: { variables: string[] } }[] } }
      const { thread, sequence } = message
      expect(readVariables(answer.functions[0]?.args.variables ?? [])).toEqual({ thread, sequence })
    }
  })

  test('makes no empty threads', () => {
    expect(planThreads({ messages: 2, threads: 100, run: 'r' })).toHaveLength(2)
  })

  test.each([[[]], [['x', '1']], [['1']], [['1.5', '2']]])(
    'knows variables that are not its own: %j',
    (variables) => {
      expect(readVariables(variables)).toBeUndefined()
    },
  )
})

test('what a webhook leaves out of its counts is seen', () => {
  const counts = { accepted: 3, repeated: 1, kept: 1, skipped: 0, foreign: 0 }
  expect(uncounted({ posted: 5, ...counts })).toBe(0)
  expect(uncounted({ posted: 6, ...counts })).toBe(1)
})
