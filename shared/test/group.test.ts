import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { group, lingerConfig, setLinger } from '../src/group.ts'

const LONGEST_MS = 10
const AN_HOUR_MS = 3_600_000
/** So many one after another are a pace at which more are about to come. */
const BUSY = 60

afterEach(() => setLinger(lingerConfig.LINGER_MS.parse(undefined)))

/** A group whose batches end when the test says so. */
function steppedGroup(options: Partial<Parameters<typeof group<string, string>>[0]> = {}) {
  const batches: { items: string[]; end: () => void }[] = []
  const add = group<string, string>({
    work: (items) =>
      new Promise((resolve) => {
        batches.push({ items, end: () => resolve(items.map((item) => item.toUpperCase())) })
      }),
    atOnce: 1,
    ...options,
  })
  return { batches, add }
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn()
}

/** A stepped group that has been given much a moment ago, and has nothing to do. */
async function busyGroup(options: Parameters<typeof steppedGroup>[0] = {}) {
  const { batches, add } = steppedGroup(options)
  const all = Promise.all(Array.from({ length: BUSY }, () => add('x')))
  let isOver = false
  void all.then(() => {
    isOver = true
  })
  while (!isOver) {
    for (const { end } of batches) end()
    await nextTurn()
  }
  batches.length = 0
  return { batches, add }
}

test('at rest what is given in one turn of the event loop is worked at once, as one batch', async () => {
  setLinger(LONGEST_MS)
  const { batches, add } = steppedGroup()
  const results = Promise.all([add('a'), add('b')])
  await someTurns()
  expect(batches.map(({ items }) => items)).toEqual([['a', 'b']])
  batches[0]?.end()
  expect(await results).toEqual(['A', 'B'])
})

test('what is given while a batch is worked is the next batch', async () => {
  const { batches, add } = steppedGroup()
  const first = add('a')
  await someTurns()
  const others = [add('b'), add('c')]
  await someTurns()
  expect(batches).toHaveLength(1)
  batches[0]?.end()
  await first
  await someTurns()
  expect(batches[1]?.items).toEqual(['b', 'c'])
  batches[1]?.end()
  expect(await Promise.all(others)).toEqual(['B', 'C'])
})

test('as many batches as may be are worked at once', async () => {
  const { batches, add } = steppedGroup({ atOnce: 2 })
  const results: Promise<string>[] = []
  for (const item of ['a', 'b', 'c']) {
    results.push(add(item))
    await someTurns()
  }
  expect(batches.map(({ items }) => items)).toEqual([['a'], ['b']])
  for (let at = 0; at < 3; at++) {
    batches[at]?.end()
    await someTurns()
  }
  expect(await Promise.all(results)).toEqual(['A', 'B', 'C'])
})

test('where more are about to come a batch waits for them', async () => {
  setLinger(LONGEST_MS)
  const { batches, add } = await busyGroup()
  const first = add('a')
  await nextTurn()
  const second = add('b')
  await nextTurn()
  expect(batches).toHaveLength(0)
  while (batches.length < 1) await nextTurn()
  expect(batches[0]?.items).toEqual(['a', 'b'])
  batches[0]?.end()
  expect(await Promise.all([first, second])).toEqual(['A', 'B'])
})

test('a batch that is full waits for nothing', async () => {
  const { batches, add } = await busyGroup({ maxItems: 2 })
  setLinger(AN_HOUR_MS)
  void add('a')
  await someTurns()
  expect(batches).toHaveLength(0)
  void add('b')
  await someTurns()
  expect(batches[0]?.items).toEqual(['a', 'b'])
  batches[0]?.end()
})

test('nothing waits with a linger of 0', async () => {
  setLinger(0)
  const { batches, add } = await busyGroup()
  void add('a')
  await someTurns()
  expect(batches[0]?.items).toEqual(['a'])
  batches[0]?.end()
})

test('what is in no hurry waits before its first batch', async () => {
  const { batches, add } = steppedGroup({ inNoHurry: { milliseconds: 100, before: 'first' } })
  const first = add('a')
  await nextTurn()
  const second = add('b')
  expect(batches).toHaveLength(0)
  while (batches.length < 1) await nextTurn()
  expect(batches[0]?.items).toEqual(['a', 'b'])
  batches[0]?.end()
  expect(await Promise.all([first, second])).toEqual(['A', 'B'])
})

test('what is in no hurry before each batch waits after an earlier one, too', async () => {
  const { batches, add } = steppedGroup({ inNoHurry: { milliseconds: 100, before: 'each' } })
  const first = add('a')
  while (batches.length < 1) await nextTurn()
  const second = add('b')
  batches[0]?.end()
  await first
  const third = add('c')
  while (batches.length < 2) await nextTurn()
  expect(batches[1]?.items).toEqual(['b', 'c'])
  batches[1]?.end()
  expect(await Promise.all([second, third])).toEqual(['B', 'C'])
})

test('where a batch rejects, each of its items does', async () => {
  const add = group<string, string>({
    work: (items) =>
      items.includes('bad') ? Promise.reject(new Error('unavailable')) : Promise.resolve(items),
    atOnce: 1,
  })
  const results = await Promise.allSettled([add('bad'), add('good')])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
