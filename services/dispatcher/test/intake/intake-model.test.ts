import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../../tests/sizes.ts'
import { commandsOn } from '../agents/model-commands.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import type { StoreFailure } from './model/faulty-messages.ts'
import { PartitionSystem, type ProviderFailure } from './model/partition-system.ts'

/** Most of a history is waiting, so that many are run side by side. */
const SIDE_BY_SIDE = 8
const MAX_COMMANDS = 30
const MAX_MESSAGES = 100

const database = dispatcherDatabase({ partitions: 1 })

/** The plain model: what was published. That is what must have been sent, once each and in order. */
interface Model {
  published: number
}

const { command, always } = commandsOn<PartitionSystem, Model>()

/** A new message, or once more one that was published before. */
const published = fc.oneof(
  { weight: 3, arbitrary: fc.constant('new' as const) },
  { weight: 2, arbitrary: fc.nat(MAX_MESSAGES) },
)
const publish = fc.array(published, { minLength: 1, maxLength: 6 }).map((messages) =>
  command(`publish ${messages.join(' ')}`, (system, model) => {
    for (const message of messages) {
      const isNew = message === 'new' || model.published === 0
      system.publish(isNew ? model.published++ : message % model.published)
    }
  }),
)
const wait = fc
  .constantFrom(0, 1, 6, 25, 120)
  .map((ms) => command(`wait ${ms} ms`, () => new Promise((resolve) => setTimeout(resolve, ms))))
const storeFailures = fc.array(fc.constantFrom<StoreFailure>('before', 'after'), { maxLength: 2 })
const disturbStore = fc
  .tuple(storeFailures, fc.constantFrom(0, 5, 40))
  .map(([failures, ms]) =>
    command(`store: ${failures.join(' ')} ${ms} ms`, (system) => system.disturbStore(failures, ms)),
  )
const providerFailures = fc.array(
  fc.constantFrom<ProviderFailure>('refuses', 'answer lost', 'fails later', 'fails later, unnamed'),
  { maxLength: 2 },
)
const disturbProvider = fc
  .tuple(providerFailures, fc.constantFrom(0, 5, 60))
  .map(([failures, ms]) =>
    command(`provider: ${failures.join(', ')} ${ms} ms`, (system) => system.disturbProvider(failures, ms)),
  )
const openBreaker = fc
  .constantFrom(5, 120, 300)
  .map((ms) => command(`the circuit breaker is open for ${ms} ms`, (system) => system.openBreaker(ms)))
const loseLease = fc
  .constantFrom(0, 10, 60)
  .map((ms) => command(`lose the lease, notice it after ${ms} ms`, (system) => system.loseLease(ms)))
const markRedelivered = fc
  .boolean()
  .map((marks) => command(`redeliveries are marked: ${marks}`, (system) => system.markRedelivered(marks)))
const commands = fc.commands(
  [
    ...[
      publish,
      publish,
      publish,
      wait,
      wait,
      disturbStore,
      disturbProvider,
      openBreaker,
      loseLease,
      markRedelivered,
    ],
    always('break the channel', (system) => system.breakChannel()),
    always('hand over', (system) => system.handOver()),
    always('kill', (system) => system.kill()),
  ],
  { maxCommands: MAX_COMMANDS, size: 'max' },
)

let systems = 0

/** Runs the commands on a new partition, every other one of a channel whose messages may pass others, lets everything recover, and returns what did not hold. */
async function violationsAfter(own: Iterable<fc.AsyncCommand<Model, PartitionSystem>>): Promise<string[]> {
  const number = systems++
  const system = new PartitionSystem({
    ...{ number, isOrdered: number % 2 === 0 },
    collections: database.collections,
  })
  try {
    await fc.asyncModelRun(() => ({ model: { published: 0 }, real: system }), own)
  } finally {
    await system.settle()
  }
  return system.violations
}

test('the next owner of a partition ends a message that the owner before lets others pass after it has lost the lease', async () => {
  const system = new PartitionSystem({
    ...{ number: systems++, isOrdered: false },
    collections: database.collections,
  })
  system.disturbProvider(['answer lost'], 60)
  system.publish(0)
  await eventually(() => system.sent.length > 0 || undefined)
  // The send's outcome is written once the next owner has read the message, and before the send's status.
  system.disturbStore([], 20)
  system.loseLease(5_000)
  await system.settle()
  expect(system.violations).toEqual([])
})

test('whatever fails, each message is sent once, and once more for each time that it failed later, in its thread’s order where that counts, and acked only when it is stored', async () => {
  const sideBySide = fc.tuple(...Array.from({ length: SIDE_BY_SIDE }, () => commands))
  const property = fc.asyncProperty(sideBySide, async (lists) => {
    const outcomes = await Promise.all(lists.map(violationsAfter))
    expect(outcomes.flat()).toEqual([])
  })
  // The failure names the seed and the commands; without shrinking, for each run takes a second or more.
  await fc.assert(property, { numRuns: MODEL_RUNS, endOnFailure: true })
})
