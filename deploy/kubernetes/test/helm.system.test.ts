import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { findHelm, type Helm } from '../src/find-helm.ts'
import {
  CHART,
  checksumsOf,
  type Files,
  readRendered,
  renderAll,
  resourcesOf,
  runHelm,
} from '../src/render.ts'

const rendered = readRendered()
let helm: Helm

// In CI Go builds a helm where there is none: at most 6 minutes, once for a checkout.
beforeAll(async () => {
  helm = await findHelm({ build: process.env.CI !== undefined })
  if (helm.command === undefined)
    console.log(`Nothing is rendered here, only compared by checksum: ${helm.reason}`)
}, 450_000)

test('the committed rendering is what helm makes now; without helm and Go: is of the chart as it is, by checksum', async () => {
  const { recorded, present } = checksumsOf(rendered)
  expect(recorded).toEqual(present)
  if (helm.command === undefined) return
  // Versions of helm may differ in blanks.
  const objects = (files: Files) => resourcesOf(files).map(({ file, resource }) => [file, resource])
  expect(objects(await renderAll(helm.command))).toEqual(objects(rendered))
})

test.each([
  ['partitions=0', '/partitions'],
  ['services.webhook.settings.LOG_LEVL=info', 'LOG_LEVL'],
])(
  'helm checks values by the schema, which is in the chart: %s is refused',
  async (setting, error) => {
    expect(existsSync(join(CHART, 'values.schema.json'))).toBe(true)
    if (helm.command === undefined) return
    await expect(render(setting)).rejects.toThrow(error)
  },
  60_000,
)

const DISPATCHERS = 'only as many dispatchers as there are partitions'
test.each([
  ['services.dispatcher.replicas=17', 'services.dispatcher.replicas is 17', DISPATCHERS],
  ['keda.enabled=true,keda.minReplicas=17', 'keda.minReplicas is 17', DISPATCHERS],
  [
    'services.gateway.autoscaling.minReplicas=7',
    'minReplicas (7) is more than maxReplicas (6)',
    'is more than maxReplicas',
  ],
])(
  'the chart refuses %s, which no schema can',
  async (setting, error, text) => {
    expect(readFileSync(join(CHART, 'templates/scaling.yaml'), 'utf8')).toContain(text)
    if (helm.command === undefined) return
    await expect(render(setting)).rejects.toThrow(error)
  },
  60_000,
)

const render = (setting: string) => runHelm(helm.command ?? '', ['operators.yaml'], ['--set', setting])
