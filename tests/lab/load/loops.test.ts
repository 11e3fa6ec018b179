import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { closedLoop, startOpenLoop } from './loops.ts'

test('an open loop sends at its times, however long the answers take', async () => {
  const began = performance.now()
  const from: number[] = []
  const { ended } = startOpenLoop({
    rate: 100,
    most: 20,
    async send(index, at) {
      from[index] = at - began
      await pause(100)
      return index
    },
  })
  expect((await ended).toSorted((a, b) => a - b)).toEqual([...Array(20).keys()])
  // One after another they would take two seconds.
  expect(performance.now() - began).toBeLessThan(1_500)
  from.forEach((at, index) => {
    expect(Math.abs(at - index * 10)).toBeLessThan(5)
  })
})

test('what finds no room in an open loop waits for it, and counts from when it was due', async () => {
  let [underWay, most] = [0, 0]
  const waits: number[] = []
  await startOpenLoop({
    ...{ rate: 1_000, inFlight: 2, most: 6 },
    async send(_index, from) {
      most = Math.max(most, ++underWay)
      waits.push(performance.now() - from)
      await pause(30)
      underWay--
    },
  }).ended
  expect(most).toBe(2)
  expect(waits.at(-1)).toBeGreaterThan(50)
})

test('an open loop that is stopped ends with what was sent', async () => {
  const loop = startOpenLoop({ rate: 200, send: async (index) => index })
  await pause(50)
  const sent = await loop.stop()
  expect(sent.length).toBeGreaterThan(2)
  expect(sent.toSorted((a, b) => a - b)).toEqual([...sent.keys()])
})

test('a closed loop has as many under way as it has workers, each its next when its last is answered', async () => {
  const [busy, order] = [new Set<number>(), [] as number[]]
  const results = await closedLoop({
    workers: 3,
    goesOn: (count) => count < 10,
    async send(index, worker) {
      expect(busy.has(worker)).toBe(false)
      busy.add(worker)
      order.push(index)
      await pause(5)
      busy.delete(worker)
      return index
    },
  })
  expect(order).toEqual([...order.keys()])
  expect(results).toHaveLength(10)
})

test('either rejects with the first request that does', async () => {
  const send = async (index: number) => {
    if (index === 2) throw new Error('the third')
  }
  await expect(startOpenLoop({ rate: 1_000, most: 5, send }).ended).rejects.toThrow('the third')
  await expect(closedLoop({ workers: 1, goesOn: (count) => count < 5, send })).rejects.toThrow('the third')
})
