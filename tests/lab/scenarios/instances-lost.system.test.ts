import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { publishMessages } from '../load/publish.ts'
import {
  type DispatcherInstances,
  overlaps,
  partitionOfThread,
  startDispatcherInstances,
} from '../system/dispatcher-instances.ts'

const THREADS = Array.from({ length: 64 }, (_, n) => `thread-${n}`)
/** A hand-over waits for what is under way, which takes its time while other tests run. */
const SHARED_AGAIN = { timeoutMs: 90_000 }

let world: DispatcherInstances
let flow: NodeJS.Timeout
let published = 0

beforeAll(async () => {
  world = await startDispatcherInstances()
  world.startProcess()
  await untilOwners(1)
  flow = setInterval(() => {
    const thread = THREADS[published % THREADS.length] ?? ''
    void publishMessages(world.channel, [{ messageId: `${published++}`, thread }])
  }, 10)
})
afterAll(async () => {
  clearInterval(flow)
  await world.close()
})

const untilOwners = (count: number) =>
  eventually(async () => {
    const owners = await world.owners()
    const sizes = [...owners.values()].map(({ length }) => length)
    return owners.size === count && sizes.every((size) => size === 8 / count) ? owners : undefined
  }, SHARED_AGAIN)

const untilDelivered = (ids: string[]) =>
  eventually(() => {
    const delivered = new Set(world.calls.map(({ messageId }) => messageId))
    return ids.every((id) => delivered.has(id))
  }, SHARED_AGAIN)

const hasBegun = (id: string, { before }: { before: number }) =>
  world.calls.some(({ messageId, began }) => messageId === id && began < before)

const callsOfSameMessage = ({ messageId }: { messageId: string }) =>
  world.calls.filter((call) => call.messageId === messageId)

describe('when a dispatcher', () => {
  test('is killed, another one takes over its partitions and goes on with what they had', async () => {
    const [survivor] = (await world.owners()).keys()
    const doomed = world.startProcess()
    const owners = await untilOwners(2)
    const orphaned = new Set(
      [...owners].flatMap(([owner, partitions]) => (owner === survivor ? [] : partitions)),
    )
    doomed.kill('SIGKILL')
    const after = THREADS.filter((thread) => orphaned.has(partitionOfThread(thread)))
    await publishMessages(
      world.channel,
      after.map((thread) => ({ messageId: `after ${thread}`, thread })),
    )
    await untilDelivered(after.map((thread) => `after ${thread}`))
    expect([...(await world.owners()).keys()]).toEqual([survivor])
    expect(overlaps(world.calls)).toEqual([])
  }, 300_000)

  test('sleeps until its leases have run out and wakes up, no thread runs in two places and nothing is missing', async () => {
    const sleeper = world.startProcess()
    await untilOwners(2)
    sleeper.kill('SIGSTOP')
    await untilOwners(1)
    // Each thread's messages are called in order: once this one is, what the sleeper had in flight was called again.
    await publishMessages(
      world.channel,
      THREADS.map((thread) => ({ messageId: `asleep ${thread}`, thread })),
    )
    await untilDelivered(THREADS.map((thread) => `asleep ${thread}`))
    sleeper.kill('SIGCONT')
    const wokenAt = performance.now()
    await untilOwners(2)
    clearInterval(flow)
    await untilDelivered(Array.from({ length: published }, (_, n) => `${n}`))
    // Calls in flight when it fell asleep are made again under the same id by the instance that took over, and not by
    // it when it woke: but for the one call that it may have been writing, its lease checked a moment before.
    const late = world.calls.filter(
      (call) => call.began > wokenAt && hasBegun(call.messageId, { before: wokenAt }),
    )
    expect(late.length < 2 ? [] : late).toEqual([])
    const others = world.calls.filter((call) => !late.includes(call))
    expect(overlaps(others).map((pair) => pair.map(callsOfSameMessage))).toEqual([])
  }, 300_000)
})
