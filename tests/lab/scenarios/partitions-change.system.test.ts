import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { testServers } from '@parley/local/testing/test-servers'
import { connect } from 'amqplib'
import { publishMessages } from '../load/publish.ts'
import {
  type DispatcherInstances,
  type ObservedCall,
  overlaps,
  startDispatcherInstances,
} from '../system/dispatcher-instances.ts'

const THREADS = 100
const EVERY_MS = 20
/** Messages in flight in an instance that is killed may be called again, under the same id. */
const UNSTORED_MS = 1_000
/** On a machine that is full. */
const CHANGED = { timeoutMs: 200_000 }

let world: DispatcherInstances
let flow: NodeJS.Timeout
let published = 0

beforeAll(async () => {
  world = await startDispatcherInstances()
  world.responding.ms = 5
  // One by itself makes the collections: MongoDB under Wine does not outlive that several make the same ones at once.
  world.startProcess()
  await untilLeased(8)
  for (let started = 1; started < 3; started++) world.startProcess()
  await untilOwners(3)
  flow = setInterval(() => {
    const number = published++
    void publishMessages(world.channel, [{ messageId: `${number}`, thread: `thread-${number % THREADS}` }])
  }, EVERY_MS)
})
afterAll(async () => {
  clearInterval(flow)
  await world.close()
})

const untilLeased = (partitions: number) =>
  eventually(async () => {
    const leased = [...(await world.owners()).values()].flat()
    if (leased.length !== partitions) return undefined
    const { change, previous } = await world.layout()
    return change === undefined && previous === undefined
  }, CHANGED)

const untilOwners = (instances: number) =>
  eventually(async () => (await world.owners()).size === instances, CHANGED)

const untilPhase = (phase: string) =>
  eventually(async () => (await world.layout()).change?.phase === phase, CHANGED)

/** Waits until all that was published so far was called. */
const untilCalled = async () => {
  const last = published
  const called = new Set<string>()
  let seen = 0
  await eventually(() => {
    for (; seen < world.calls.length; seen++) called.add(world.calls[seen]?.messageId ?? '')
    return Array.from({ length: last }, (_, number) => `${number}`).every((id) => called.has(id))
  }, CHANGED)
}

const repeated = () =>
  [...Map.groupBy(world.calls, ({ messageId }) => messageId).values()].filter((calls) => calls.length > 1)

/** Threads in which a message was first called after a later one. */
function notInSequence(): string[] {
  const first = new Map<string, ObservedCall>()
  for (const call of world.calls) if (!first.has(call.messageId)) first.set(call.messageId, call)
  return [...Map.groupBy(first.values(), ({ thread }) => thread)].flatMap(([thread, calls]) => {
    const numbers = calls.map(({ messageId }) => Number(messageId))
    return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0)) ? [] : [thread]
  })
}

describe('while messages arrive all the time, a change of the number of partitions', () => {
  test('sends each once, in the order of its thread, and goes on when its command is killed', async () => {
    const command = world.startChange(24)
    await untilPhase('draining')
    await command.stop('SIGKILL')
    await untilLeased(24)
    await untilCalled()
    expect((await world.owners()).size).toBe(3)
    expect(repeated()).toEqual([])
    expect(notInSequence()).toEqual([])
    const connection = await connect((await testServers()).amqpUrl)
    const channel = await connection.createChannel()
    for (let partition = 0; partition < 24; partition++) await channel.checkQueue(`messages.g2.p${partition}`)
    channel.on('error', () => {})
    await expect(channel.checkQueue('messages.p0')).rejects.toThrow('NOT_FOUND')
    await connection.close()
  })

  test('outlives a dispatcher that is killed, and one that stands still until it is over', async () => {
    const victim = world.startProcess()
    const sleeper = world.startProcess()
    await untilOwners(5)
    const change = world.startChange(3)
    await untilPhase('draining')
    victim.kill('SIGKILL')
    sleeper.kill('SIGSTOP')
    const stoppedAt = performance.now()
    await untilLeased(3)
    sleeper.kill('SIGCONT')
    const wokenAt = performance.now()
    await untilCalled()
    await change.stop()
    clearInterval(flow)
    await untilCalled()
    expect(notInSequence()).toEqual([])
    // But for the one call that it may have been writing, its lease checked a moment before.
    const late = world.calls.filter(
      ({ messageId, began }) =>
        began > wokenAt && world.calls.some((call) => call.messageId === messageId && call.began < wokenAt),
    )
    expect(late.length < 2 ? [] : late).toEqual([])
    expect(overlaps(world.calls.filter((call) => !late.includes(call)))).toEqual([])
    const before = repeated().filter(([first]) => (first?.began ?? 0) < stoppedAt - UNSTORED_MS)
    expect(before).toEqual([])
    expect((await world.layout()).partitions).toBe(3)
  })

  test('is not made by an instance that is started with another number', async () => {
    world.startProcess({ PARTITIONS: '5' })
    await untilOwners(3)
    await publishMessages(world.channel, [{ messageId: 'last', thread: 'thread-0' }])
    await eventually(() => world.calls.some(({ messageId }) => messageId === 'last'))
    expect(await world.layout()).toMatchObject({ generation: 3, partitions: 3 })
  })
})
