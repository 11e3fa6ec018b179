// Sends hostile requests to every operation as every role, to a system of its own, and says what came of it.
//   npm run test:fuzz
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { loadSecrets, type Secrets } from '@parley/local/system/secrets'
import type { RunFile } from '@parley/local/system/start-system'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { type OwnSystem, startOwnSystem } from '../lab/system/own-system.ts'
import { fuzz } from './fuzz.ts'
import { MEMORY, watchProcesses } from './process-limits.ts'
import { type FuzzReport, fuzzTable, hasPassed } from './report.ts'
import type { FuzzTarget } from './world.ts'

const size = z.object({
  REQUESTS: integer({ min: 100, max: 10_000_000 }).default(50_000).describe('How many are sent'),
  SEED: integer({ min: 0, max: 2 ** 31 - 1 })
    .default(() => Math.floor(Math.random() * 2 ** 31))
    .describe('Of what is sent; the same one sends the same'),
  CONCURRENCY: integer({ min: 1, max: 256 }).default(16).describe('How many are under way at a time'),
})
const { REQUESTS, SEED, CONCURRENCY } = parseConfig(size, process.env)
const say = (line: string) => console.error(line)

const own = await startOwnSystem({ instances: {}, memory: MEMORY, say })
try {
  const report = await run(own)
  console.log(fuzzTable(report))
  process.exitCode = hasPassed(report) ? 0 : 1
} finally {
  await own.stop()
}

async function run(own: OwnSystem): Promise<FuzzReport> {
  say(`Seed ${SEED}`)
  const before = await pidsOf(own)
  const started = performance.now()
  const secrets = loadSecrets(join(dirname(own.runFile), 'secrets.json'))
  const options = { target: targetOf(own, secrets), requests: REQUESTS, seed: SEED, concurrency: CONCURRENCY }
  const watch = await watchProcesses(metricsOf(own))
  const done = await fuzz({ ...options, saveRegressions: true, say })
  const processes = await watch.stop()
  const after = await pidsOf(own)
  const crashed = Object.keys(before).filter((name) => before[name] !== after[name])
  return { ...done, crashed, processes, seconds: (performance.now() - started) / 1_000, seed: SEED }
}

async function pidsOf({ runFile }: OwnSystem): Promise<Record<string, number | undefined>> {
  const { processes }: RunFile = JSON.parse(await readFile(runFile, 'utf8'))
  return Object.fromEntries(Object.entries(processes).map(([name, { pid }]) => [name, pid]))
}

function metricsOf({ system }: OwnSystem): Record<string, string> {
  const found = Object.entries(system.processes).flatMap(([name, { metricsUrl }]) =>
    metricsUrl === undefined ? [] : [[name, metricsUrl] as const],
  )
  return Object.fromEntries(found)
}

function targetOf({ system }: OwnSystem, secrets: Secrets): FuzzTarget {
  const { gatewayUrl, simulatorUrl, processes, mongoUrl, amqpUrl, redisUrl } = system
  // Whoever is signed in is told where the simulator is.
  const shown = [gatewayUrl, simulatorUrl]
  const inside = Object.values(processes).flatMap(({ url, metricsUrl }) => [url, metricsUrl ?? url])
  const addresses = [...inside, mongoUrl, amqpUrl, redisUrl]
    .filter((url) => !shown.includes(url))
    .map((url) => new URL(url).host)
  const { peppers, keyEncryptionKeys, signingSecret, secretKeys, serviceKeys } = secrets
  const keys = [peppers, keyEncryptionKeys, secretKeys].map((named) => named.split(':')[1] ?? named)
  const own = Object.values(serviceKeys).map(({ d }) => d)
  return {
    url: gatewayUrl,
    hidden: [...addresses, ...keys, signingSecret, ...own],
    gatewayKey: serviceKeys.gateway,
  }
}
