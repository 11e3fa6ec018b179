import { expect, test } from '@jest/globals'
import { Registry } from 'prom-client'
import { createMetrics } from '../../src/metrics/metrics.ts'

test('dead messages are counted from 0 for every fault, so that the increase of a first burst is seen', async () => {
  const registry = new Registry()
  const metrics = createMetrics(registry)
  const dead = async () =>
    (await registry.getSingleMetric('parley_messages_settled_total')?.get())?.values
      .filter(({ labels }) => labels.state === 'dead')
      .map(({ labels, value }) => [labels.fault, value])
  const none = ['caller', 'channel', 'provider', 'recipient', 'us'].map((fault) => [fault, 0])
  expect(await dead()).toEqual(none)
  metrics.settled('dead', 'us')
  expect(await dead()).toEqual([...none.slice(0, 4), ['us', 1]])
})
