import { expect, test } from '@jest/globals'
import { createLeaseStore } from '../../src/store/lease-store.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })

test('a lease that has run out is not valid again, also where the database renews it: what was left meanwhile is nobody’s', async () => {
  let now = 0
  const leases = createLeaseStore({
    collections: database.collections,
    instance: 'first',
    now: () => now,
  })
  const lease = await leases.acquire([])
  now = 8_000
  if (lease !== undefined) await leases.renew([lease])
  expect(lease?.isValid()).toBe(true)
  now = 17_000
  expect(lease?.isValid()).toBe(false)
  if (lease !== undefined) await leases.renew([lease])
  expect(lease?.isValid()).toBe(false)
})

test('what an instance gave up by its own clock, and the database renewed for it after that, it takes again at once', async () => {
  await database.collections.partitions.updateMany({}, { $set: { owner: null } })
  let now = 0
  const storeOf = (instance: string) =>
    createLeaseStore({ collections: database.collections, instance, now: () => now })
  const leases = storeOf('second')
  const lease = await leases.acquire([])
  if (lease === undefined) throw new Error('the lease was not free')
  expect(await leases.acquire([lease.partition])).toBeUndefined()
  now = 9_000
  await leases.renew([lease])
  expect(lease.isValid()).toBe(false)
  expect(await storeOf('third').acquire([])).toBeUndefined()
  const again = await leases.acquire([])
  expect(again).toMatchObject({ partition: lease.partition, term: lease.term + 1 })
  expect(again?.isValid()).toBe(true)
  await leases.renew([lease])
  expect(lease.isValid()).toBe(false)
})
