import { expect, test } from '@jest/globals'
import { createLeaseStore } from '../src/store/lease-store.ts'
import { dispatcherDatabase } from './dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })

test('a lease that has run out is not valid again, also where the database renews it: what was left meanwhile is nobody’s', async () => {
  let now = 0
  const leases = createLeaseStore({
    collections: database.collections,
    instance: 'first',
    now: () => now,
  })
  const lease = await leases.acquire()
  now = 8_000
  if (lease !== undefined) await leases.renew([lease])
  expect(lease?.isValid()).toBe(true)
  now = 17_000
  expect(lease?.isValid()).toBe(false)
  if (lease !== undefined) await leases.renew([lease])
  expect(lease?.isValid()).toBe(false)
})
