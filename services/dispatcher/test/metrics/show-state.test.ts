import { expect, test } from '@jest/globals'
import { Registry } from 'prom-client'
import { showState } from '../../src/metrics/show-state.ts'

/** The state of a dispatcher whose store is asked through `store`. */
function stateOf(store: <T>(value: T) => Promise<T>) {
  const registry = new Registry()
  showState(registry, {
    broker: { withChannel: () => Promise.reject(new Error('unavailable')) },
    partitionsLeased: () => 0,
    layout: () => store({ generation: 1, partitions: 16 }),
    oldest: () => new Map(),
    difference: () => store({ difference: 3 }),
    auditLagSeconds: () => store(400),
  })
  return async (name: string) => {
    const metric = await registry.getSingleMetric(name)?.get()
    return metric?.values.map(({ value }) => value)
  }
}

test('the number of partitions stays what it was while the store is unavailable; the count and its lag are not shown', async () => {
  let isAvailable = true
  const shown = stateOf(async (value) => {
    if (!isAvailable) throw new Error('unavailable')
    return value
  })
  expect(await shown('parley_partitions')).toEqual([16])
  expect(await shown('parley_reconciliation_difference')).toEqual([3])
  expect(await shown('parley_audit_lag_seconds')).toEqual([400])
  isAvailable = false
  expect(await shown('parley_partitions')).toEqual([16])
  expect(await shown('parley_reconciliation_difference')).toEqual([])
  expect(await shown('parley_audit_lag_seconds')).toEqual([])
})

test('the number of partitions is not shown as long as nobody has said it', async () => {
  const shown = stateOf(() => Promise.reject(new Error('unavailable')))
  expect(await shown('parley_partitions')).toEqual([])
  expect(await shown('parley_partitions_leased')).toEqual([0])
})
