// Intake of messages by the webhook service, beside a bare handler and a raw publisher; a steady load; and its memory.
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { asFastAsPossible, atRate, type Load } from '../lab/load/http-lines.ts'
import { median, reportComparison } from '../lab/report/results.ts'
import { cpuSeconds, leaveLastCore, onLastCore, outputOf, residentMib } from '../lab/system/processes.ts'
import { ALL_PERMISSIONS, startServiceProcesses } from '../lab/system/service-processes.ts'
import { BODY, messageRequests } from './load-requests.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(5).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 512 }).default(64).describe('Requests under way at a time'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
  RATE: integer({ min: 1, max: 10_000 }).default(500).describe('Messages a second of the steady load'),
  STEADY_SECONDS: integer({ min: 1, max: 600 }).default(10).describe('How long the steady load lasts'),
  MESSAGES: integer({ min: 10_000, max: 10_000_000 })
    .default(1_000_000)
    .describe('Messages between the first look at the memory and the last'),
})
type Measured = Load & {
  /** Of the process that took the messages in. */
  cpuMicros: number
}

const { DURATION, CONNECTIONS, RUNS, RATE, STEADY_SECONDS, MESSAGES } = parseConfig(size, process.env)
const pinned = { pinned: true }

leaveLastCore()
const channel = { _id: 1, version: 1, name: 'Support', extId: 'support-line', hook: 'rpc', config: {} }
const system = await startServiceProcesses({
  name: 'intake',
  inner: (url) => (url.startsWith('/internal/roles') ? ALL_PERMISSIONS : { data: [channel], next: null }),
})
const AMQP_URL = system.servers.rabbitmq.url
type Service = Awaited<ReturnType<typeof system.startService>>
/** Requests with the token that the gateway would send. */
const requests = () => messageRequests(system.token('webhook'))
try {
  const services = {
    ours: await system.startService('webhook', { LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn' }, pinned),
    bare: await system.runListening('tests/bench/bare-express-amqplib.ts', {}, pinned),
  }
  await compare(services)
  await steady(services.ours)
  await memory(services.ours)
} finally {
  await system.stop()
}

async function load(service: Service): Promise<Measured> {
  await system.emptyQueues()
  const before = cpuSeconds(service)
  const until = performance.now() + DURATION * 1_000
  const goesOn = () => performance.now() < until
  const { port } = service
  const measured = await asFastAsPossible({ port, connections: CONNECTIONS, request: requests(), goesOn })
  const cpuMicros = ((cpuSeconds(service) - before) * 1e6) / (measured.perSecond * DURATION)
  return { ...measured, cpuMicros }
}

async function rawPublisher(): Promise<Measured> {
  await system.emptyQueues()
  const publisher = onLastCore([new URL('raw-publisher.ts', import.meta.url).pathname])
  const printed = await outputOf(...publisher, { AMQP_URL, BODY, DURATION: String(DURATION) })
  return { perSecond: Number(printed), p50: Number.NaN, p99: Number.NaN, failures: 0, cpuMicros: Number.NaN }
}

/**
 * All three in turns, each alone on the last core, the servers and the load on the others; the median of three
 * runs, after one to warm up.
 */
async function compare({ ours, bare }: Record<'ours' | 'bare', Service>): Promise<void> {
  const kinds = { 'the webhook service': () => load(ours), 'bare express + amqplib': () => load(bare) }
  for (const measure of Object.values(kinds)) await measure()
  const all = { ...kinds, 'raw publisher, 64 in flight': rawPublisher }
  const runs = new Map<string, Measured[]>(Object.keys(all).map((name) => [name, []]))
  for (let count = 0; count < RUNS; count++) {
    for (const [name, measure] of Object.entries(all)) runs.get(name)?.push(await measure())
  }
  const valuesOf = (name: string, field: keyof Measured) => (runs.get(name) ?? []).map((each) => each[field])
  const medianOf = (name: string, field: keyof Measured) => median(valuesOf(name, field))
  const mine = medianOf('the webhook service', 'perSecond')
  for (const [name, row, least] of [
    ['bare express + amqplib', 'intake beside bare express + amqplib', 0.8],
    ['raw publisher, 64 in flight', 'intake beside a raw confirmed publisher, 64 in flight', 0.5],
  ] as const)
    reportComparison({
      ...{ row, ours: valuesOf('the webhook service', 'perSecond'), others: valuesOf(name, 'perSecond') },
      ...{ unit: '/s', reach: { least } },
    })
  const rows = [...runs].map(([name, loads]) => ({
    name,
    'messages/s': Math.round(medianOf(name, 'perSecond')),
    runs: loads.map((one) => Math.round(one.perSecond)).join(' '),
    'p50 ms': medianOf(name, 'p50').toFixed(1),
    'p99 ms': medianOf(name, 'p99').toFixed(1),
    'CPU µs each': Math.round(medianOf(name, 'cpuMicros')),
    failures: loads.reduce((sum, one) => sum + one.failures, 0),
    'ours beside it': (mine / medianOf(name, 'perSecond')).toFixed(2),
  }))
  console.log(`\nConfirmed messages, ${CONNECTIONS} connections, median of ${RUNS} runs of ${DURATION} s`)
  console.table(rows)
}

async function steady({ port }: Service): Promise<void> {
  await system.emptyQueues()
  const { perSecond, p50, p99, failures } = await atRate({
    ...{ port, connections: CONNECTIONS, request: requests(), rate: RATE, seconds: STEADY_SECONDS },
  })
  console.log(`\nA steady ${RATE} messages/s for ${STEADY_SECONDS} s, each at its time`)
  console.table([
    { 'messages/s': perSecond.toFixed(0), 'p50 ms': p50.toFixed(1), 'p99 ms': p99.toFixed(1), failures },
  ])
}

async function memory(service: Service): Promise<void> {
  await system.emptyQueues()
  const rows: object[] = []
  const memoryAt: number[] = []
  const look = (messages: number) => {
    const resident = residentMib(service)
    memoryAt.push(resident)
    rows.push({ messages, 'resident MiB': Math.round(resident) })
  }
  let looked = 0
  const goesOn = (count: number) => {
    if (count >= looked) {
      look(looked)
      looked += MESSAGES / 10
    }
    return count < MESSAGES
  }
  const { port } = service
  await asFastAsPossible({ port, connections: CONNECTIONS, request: requests(), goesOn })
  const [first, last] = [memoryAt[1], memoryAt.at(-1)]
  if (first !== undefined && last !== undefined)
    reportComparison({
      row: `memory of the webhook service, after ${MESSAGES} messages`,
      ...{ ours: [last], others: [first], named: `after ${MESSAGES / 10}: `, unit: ' MiB' },
      reach: { most: 1.15 },
    })
  console.log(`\nMemory of the webhook service over ${MESSAGES} messages`)
  console.table(rows)
}
