import { expect, test } from '@jest/globals'
import { findHelm } from '../src/find-helm.ts'
import { runHelm } from '../src/render.ts'

// Fetched once for a checkout where there is none.
const helm = await findHelm()
const render = (setting: string) => runHelm(helm, ['operators.yaml'], ['--set', setting])

test.each([
  ['partitions=0', '/partitions'],
  ['services.webhook.settings.LOG_LEVL=info', 'LOG_LEVL'],
])('helm checks values by the schema, which is in the chart: %s is refused', async (setting, error) => {
  await expect(render(setting)).rejects.toThrow(error)
})

test.each([
  ['services.dispatcher.replicas=17', 'services.dispatcher.replicas is 17'],
  ['keda.enabled=true,keda.minReplicas=17', 'keda.minReplicas is 17'],
  ['services.gateway.autoscaling.minReplicas=7', 'minReplicas (7) is more than maxReplicas (6)'],
])('the chart refuses %s, which no schema can', async (setting, error) => {
  await expect(render(setting)).rejects.toThrow(error)
})
