import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { group } from '../src/group.ts'

const LONG_MS = 60_000

/** A group whose batches end when the test says so. */
function steppedGroup(options: { gatherMs: number; gathers?: 'atRest' | 'each'; atOnce?: number }) {
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

test('at rest what is given in one turn of the event loop is worked at once, as one batch', async () => {
  const { batches, add } = steppedGroup({ gatherMs: LONG_MS })
  const results = Promise.all([add('a'), add('b')])
  await someTurns()
  expect(batches.map(({ items }) => items)).toEqual([['a', 'b']])
  batches[0]?.end()
  expect(await results).toEqual(['A', 'B'])
})

test('what is given while a batch is worked is the next batch', async () => {
  const { batches, add } = steppedGroup({ gatherMs: LONG_MS })
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

test('what is given right after a batch is gathered, not worked at once', async () => {
  const { batches, add } = steppedGroup({ gatherMs: 100 })
  const first = add('a')
  await someTurns()
  batches[0]?.end()
  await first
  await someTurns()
  const second = add('b')
  await nextTurn()
  const third = add('c')
  await nextTurn()
  expect(batches).toHaveLength(1)
  while (batches.length < 2) await nextTurn()
  expect(batches[1]?.items).toEqual(['b', 'c'])
  batches[1]?.end()
  expect(await Promise.all([second, third])).toEqual(['B', 'C'])
})

test('a second batch that is worked beside the first is gathered, too', async () => {
  const { batches, add } = steppedGroup({ gatherMs: 100, atOnce: 2 })
  const first = add('a')
  await someTurns()
  const second = add('b')
  await nextTurn()
  expect(batches).toHaveLength(1)
  while (batches.length < 2) await nextTurn()
  for (const { end } of batches) end()
  expect(await Promise.all([first, second])).toEqual(['A', 'B'])
})

test('a group that gathers at rest does so from the first item on', async () => {
  const { batches, add } = steppedGroup({ gatherMs: 100, gathers: 'atRest' })
  const first = add('a')
  await nextTurn()
  const second = add('b')
  expect(batches).toHaveLength(0)
  while (batches.length < 1) await nextTurn()
  expect(batches[0]?.items).toEqual(['a', 'b'])
  batches[0]?.end()
  expect(await Promise.all([first, second])).toEqual(['A', 'B'])
})

test('a group that gathers before each batch does so after an earlier one, too', async () => {
  const { batches, add } = steppedGroup({ gatherMs: 100, gathers: 'each' })
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
    gatherMs: LONG_MS,
    atOnce: 1,
  })
  const results = await Promise.allSettled([add('bad'), add('good')])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
