import { beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLeaseStore, type Lease } from '../../src/store/lease-store.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const PARTITIONS = 4
const BEAT = { hasBroker: true }
const database = dispatcherDatabase({ partitions: PARTITIONS })

beforeEach(async () => {
  await database.collections.instances.deleteMany({})
  await database.collections.partitions.updateMany({}, { $set: { owner: null } })
})

const storeOf = (instance: string, name?: string) =>
  createLeaseStore({ collections: database.collections, instance, name })

/** An instance that has all partitions. */
async function startFirst(name?: string) {
  const leases = storeOf('first', name)
  await leases.beat(BEAT)
  const taken: Lease[] = []
  const partitions = () => taken.map(({ partition }) => partition)
  while (taken.length < PARTITIONS) taken.push((await leases.acquire(partitions())) as Lease)
  return { leases, taken }
}

/** The instance was last seen so long ago (milliseconds), by the database's clock. */
const lastSeen = (instance: string, ago: number) =>
  database.collections.instances.updateOne({ _id: instance }, [
    { $set: { seenAt: { $subtract: ['$$NOW', ago] } } },
  ])

describe('an instance that is started again under its name', () => {
  test('takes the partitions of the one before, whose leases still run, in a later term', async () => {
    const { taken } = await startFirst('dispatcher-1')
    await lastSeen('first', 3_000)
    const second = storeOf('second', 'dispatcher-1')
    expect(await second.beat(BEAT)).toEqual(['second'])
    const lease = await second.acquire([])
    expect(lease?.term).toBe((taken.find(({ partition }) => partition === lease?.partition)?.term ?? 0) + 1)
  })

  test('takes them as soon as it was not seen for a moment', async () => {
    await startFirst('dispatcher-1')
    const second = storeOf('second', 'dispatcher-1')
    const since = performance.now()
    await eventually(async () => {
      await second.beat(BEAT)
      return second.acquire([])
    })
    const ms = performance.now() - since
    expect(ms).toBeGreaterThan(2_000)
    expect(ms).toBeLessThan(9_000)
  })

  test('takes nothing from one that lives under the same name by mistake', async () => {
    const { leases, taken } = await startFirst('dispatcher-1')
    await lastSeen('first', 2_000)
    const second = storeOf('second', 'dispatcher-1')
    await second.beat(BEAT)
    expect(await second.acquire([])).toBeUndefined()
    await leases.renew(taken)
    expect(taken.map((lease) => lease.isValid())).toEqual(taken.map(() => true))
  })
})

test.each([
  ['of another name', 'dispatcher-1', 'dispatcher-2'],
  ['without a name', undefined, undefined],
])('an instance %s waits until the leases of a dead one run out', async (_name, first, second) => {
  await startFirst(first)
  await lastSeen('first', 3_000)
  const leases = storeOf('second', second)
  expect(await leases.beat(BEAT)).toEqual(['first', 'second'])
  expect(await leases.acquire([])).toBeUndefined()
})
