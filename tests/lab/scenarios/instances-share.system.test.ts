import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Listening } from '@parley/local/testing/service-under-test'
import { publishMessages } from '../load/publish.ts'
import {
  type DispatcherInstances,
  evenShares,
  overlaps,
  partitionOfThread,
  startDispatcherInstances,
} from '../system/dispatcher-instances.ts'

let world: DispatcherInstances
const instances: Listening[] = []

beforeAll(async () => {
  world = await startDispatcherInstances()
})
afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.close()))
  await world.close()
})

const untilShared = (count: number) =>
  eventually(async () => {
    const shares = [...(await world.owners()).values()].map((partitions) => partitions.length)
    const sorted = shares.toSorted((a, b) => b - a)
    return JSON.stringify(sorted) === JSON.stringify(evenShares(count)) ? sorted : undefined
  })

const THREADS = Array.from({ length: 64 }, (_, n) => `thread-${n}`)

// A second on a machine of its own; here other tests run beside it.
const HAND_OVER_MS = 2_500

describe('instances of the dispatcher', () => {
  test('hand over within a second of the last request in flight when one is added', async () => {
    instances.push(await world.startHere())
    await untilShared(1)
    world.responding.ms = 2_000
    await publishMessages(
      world.channel,
      THREADS.flatMap((thread) => [0, 1].map((n) => ({ messageId: `${thread}/${n}`, thread }))),
    )
    await eventually(() => world.calls.length === THREADS.length)
    const [first] = await world.owners()
    instances.push(await world.startHere())
    await untilShared(2)
    world.responding.ms = 10
    await eventually(() => world.calls.length === 2 * THREADS.length)
    const stayed = new Set((await world.owners()).get(first?.[0] ?? ''))
    for (const [partition, calls] of Map.groupBy(world.calls, ({ thread }) => partitionOfThread(thread))) {
      if (stayed.has(partition)) continue
      const lastInFlight = Math.max(
        ...calls.filter(({ messageId }) => messageId.endsWith('/0')).map((one) => one.ended),
      )
      const next = Math.min(
        ...calls.filter(({ messageId }) => messageId.endsWith('/1')).map((one) => one.began),
      )
      expect(next - lastInFlight).toBeLessThan(HAND_OVER_MS)
    }
    expect(overlaps(world.calls)).toEqual([])
  })

  test('share the partitions evenly, however many there are, and nothing is run twice on the way', async () => {
    world.responding.ms = 5
    world.calls.length = 0
    let next = 0
    const flow = setInterval(() => {
      const thread = THREADS[next++ % THREADS.length] ?? ''
      void publishMessages(world.channel, [{ messageId: `flow-${next}`, thread }])
    }, 10)
    for (let count = instances.length; count < 5; count++) {
      instances.push(await world.startHere())
      expect(await untilShared(count + 1)).toEqual(evenShares(count + 1))
    }
    for (let count = 5; count > 2; count--) {
      await instances.shift()?.close()
      expect(await untilShared(count - 1)).toEqual(evenShares(count - 1))
    }
    clearInterval(flow)
    await eventually(() => new Set(world.calls.map(({ messageId }) => messageId)).size >= next)
    expect(world.calls.length).toBe(next)
    expect(overlaps(world.calls)).toEqual([])
  })
})
