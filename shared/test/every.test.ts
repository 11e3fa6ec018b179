import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { createBackOff, every } from '../src/every.ts'

const AN_HOUR_MS = 3_600_000

/** A loop that pauses for an hour, and how often it has run. */
function slowLoop(run: () => Promise<unknown> = async () => undefined) {
  const state = { runs: 0 }
  const loop = every({
    pauseMs: AN_HOUR_MS,
    run: () => {
      state.runs++
      return run()
    },
    failed: () => undefined,
  })
  return { state, ...loop }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn()
}

test('a loop that is woken runs again at once', async () => {
  const { state, wake, stop } = slowLoop()
  await until(() => state.runs === 1)
  await nextTurn()
  wake()
  await until(() => state.runs === 2)
  await stop()
})

test('a loop that is woken while it runs runs once more', async () => {
  const first = Promise.withResolvers<void>()
  const { state, wake, stop } = slowLoop(() => first.promise)
  wake()
  wake()
  first.resolve()
  await until(() => state.runs === 2)
  await stop()
  expect(state.runs).toBe(2)
})

test('a loop that fails goes on, and one that is stopped runs no more', async () => {
  const { state, wake, stop } = slowLoop(() => Promise.reject(new Error('unavailable')))
  await until(() => state.runs === 1)
  await nextTurn()
  wake()
  await until(() => state.runs === 2)
  await stop()
  wake()
  await nextTurn()
  expect(state.runs).toBe(2)
})

test('pauses double while nothing is found, up to the longest, and are short again after a find or a failure', async () => {
  const { pauseMs, note } = createBackOff({ leastMs: 1, mostMs: 5 })
  const pauses: number[] = []
  const look = async (found: boolean | Error) => {
    const looked = found instanceof Error ? Promise.reject(found) : Promise.resolve(found)
    await note(() => looked).catch(() => undefined)
    pauses.push(pauseMs())
  }
  for (const found of [false, false, false, false, true, false, new Error('unavailable'), false])
    await look(found)
  expect(pauses).toEqual([2, 4, 5, 5, 1, 2, 1, 2])
})
