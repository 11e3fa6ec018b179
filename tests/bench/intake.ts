import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen, makeServiceKeys, untilReady } from '@parley/local/testing/service-under-test'
import { declareTestLayoutAt, TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { integer, parseConfig } from '@parley/shared/config'
import { createInternalSigner } from '@parley/shared/internal-token'
import { connect } from 'amqplib'
import { z } from 'zod'
import { asFastAsPossible, atRate, inTurns, type Load, requestBytes } from './http-load.ts'
import { leaveLastCore, onLastCore } from './own-core.ts'
import { cpuSeconds, listening, outputOf, residentMib, startProcesses } from './processes.ts'
import { compare as compareRuns, median, report } from './results.ts'

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

const PORTS = { ours: 18_421, bare: 18_422 }
const PATH = '/api/hooks/whatsapp'
const THREADS = 256

const { DURATION, CONNECTIONS, RUNS, RATE, STEADY_SECONDS, MESSAGES } = parseConfig(size, process.env)
const urlOf = (name: keyof typeof PORTS) => `http://127.0.0.1:${PORTS[name]}`

leaveLastCore()
const { run, stop } = startProcesses()
const directory = await mkdtemp(join(tmpdir(), 'parley-bench-'))
const servers = await startServers({ directory, say: console.error })
const AMQP_URL = servers.rabbitmq.url
await declareTestLayoutAt(AMQP_URL)
const keys = makeServiceKeys()
const inner = await listen((req, res) => {
  res.writeHead(200, { 'content-type': 'application/json' })
  const isRole = req.url?.startsWith('/internal/roles')
  const channel = { _id: 1, version: 1, name: 'Support', extId: 'support-line', hook: 'rpc', config: {} }
  res.end(
    JSON.stringify(
      isRole
        ? { permissions: [{ schema: 'true', read: 'true', write: 'true' }] }
        : { data: [channel], next: null },
    ),
  )
})
const message = (thread: number) => ({
  extId: 'support-line',
  user: { name: 'João', phone: `55119${thread}`, ctx: {} },
  thread: { extId: `thread-${thread}`, ctx: {} },
  answer: {
    message: 'Olá!',
    functions: [{ name: 'callback', args: { template: 'welcome', variables: ['João'], language: 'pt_BR' } }],
  },
})
const BODY = JSON.stringify(message(0))
const services = {
  ours: run(...onLastCore([join(CHECKOUT, 'services/webhook/src/server.ts')]), {
    PORT: String(PORTS.ours),
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    AMQP_URL,
    MONGO_URL: servers.mongo.url,
    REDIS_URL: servers.redis.url,
    SERVICE_KEY: JSON.stringify(keys.own.webhook),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    IDENTITY_URL: inner.url,
    CONFIGURATION_URL: inner.url,
  }),
  bare: run(...onLastCore([join(CHECKOUT, 'tests/bench/bare-express-amqplib.ts')]), {
    PORT: String(PORTS.bare),
    AMQP_URL,
  }),
}
try {
  await listening(urlOf('ours'))
  await untilReady(urlOf('ours'))
  await listening(urlOf('bare'))
  await compare()
  await steady()
  await memory()
} finally {
  await stop()
  await inner.close()
  await servers.stop()
  await rm(directory, { recursive: true, force: true })
}

/** Requests over 256 threads, with the token that the gateway would send. */
function requests() {
  const caller = {
    account: { _id: 1, username: 'bench@example.com', name: 'Bench', profile: 1, context: {} },
    workspace: { _id: 1, name: 'Bench', namespace: 'bench', host: 'bench.example.com' },
    role: { _id: 1, name: 'WORKSPACE_ADMIN', version: 1 },
  }
  const signer = createInternalSigner(keys.own.gateway)
  const authorization = `Bearer ${signer.sign({ audience: 'webhook', caller })}`
  return inTurns(
    Array.from({ length: THREADS }, (_, thread) =>
      requestBytes({ path: PATH, headers: { authorization }, body: JSON.stringify(message(thread)) }),
    ),
  )
}

async function load(target: keyof typeof PORTS): Promise<Measured> {
  await emptyQueues()
  const before = cpuSeconds(services[target])
  const until = performance.now() + DURATION * 1_000
  const port = PORTS[target]
  const goesOn = () => performance.now() < until
  const measured = await asFastAsPossible({ port, connections: CONNECTIONS, request: requests(), goesOn })
  const cpuMicros = ((cpuSeconds(services[target]) - before) * 1e6) / (measured.perSecond * DURATION)
  return { ...measured, cpuMicros }
}

async function rawPublisher(): Promise<Measured> {
  await emptyQueues()
  const publisher = onLastCore([join(CHECKOUT, 'tests/bench/raw-publisher.ts')])
  const printed = await outputOf(...publisher, { AMQP_URL, BODY, DURATION: String(DURATION) })
  return { perSecond: Number(printed), p50: Number.NaN, p99: Number.NaN, failures: 0, cpuMicros: Number.NaN }
}

async function emptyQueues(): Promise<void> {
  const connection = await connect(AMQP_URL)
  const channel = await connection.createChannel()
  for (let partition = 0; partition < TEST_LAYOUT.partitions; partition++)
    await channel.purgeQueue(testQueue(partition))
  await connection.close()
}

/**
 * All three in turns, each alone on the last core, the servers and the load on the others; the median of three
 * runs, after one to warm up.
 */
async function compare(): Promise<void> {
  const kinds = { 'the webhook service': () => load('ours'), 'bare express + amqplib': () => load('bare') }
  for (const measure of Object.values(kinds)) await measure()
  const all = { ...kinds, 'raw publisher, 64 in flight': rawPublisher }
  const runs = new Map<string, Measured[]>(Object.keys(all).map((name) => [name, []]))
  for (let count = 0; count < RUNS; count++) {
    for (const [name, measure] of Object.entries(all)) runs.get(name)?.push(await measure())
  }
  const medianOf = (name: string, field: keyof Measured) =>
    median((runs.get(name) ?? []).map((each) => each[field]))
  const mine = medianOf('the webhook service', 'perSecond')
  for (const [name, row, reach] of [
    ['bare express + amqplib', 'intake beside bare express + amqplib', 0.8],
    ['raw publisher, 64 in flight', 'intake beside a raw confirmed publisher, 64 in flight', 0.5],
  ] as const) {
    const speeds = (of: string) => (runs.get(of) ?? []).map(({ perSecond }) => perSecond)
    const ours = speeds('the webhook service')
    const shown = (values: number[]) => `${Math.round(median(values))}/s`
    const compared = compareRuns(ours, speeds(name))
    report({ row, parley: shown(ours), against: shown(speeds(name)), ...compared, reach: { least: reach } })
  }
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

async function steady(): Promise<void> {
  await emptyQueues()
  const { perSecond, p50, p99, failures } = await atRate({
    port: PORTS.ours,
    connections: CONNECTIONS,
    request: requests(),
    rate: RATE,
    seconds: STEADY_SECONDS,
  })
  console.log(`\nA steady ${RATE} messages/s for ${STEADY_SECONDS} s, each at its time`)
  console.table([
    { 'messages/s': perSecond.toFixed(0), 'p50 ms': p50.toFixed(1), 'p99 ms': p99.toFixed(1), failures },
  ])
}

async function memory(): Promise<void> {
  await emptyQueues()
  const rows: object[] = []
  const memoryAt: number[] = []
  const look = (messages: number) => {
    const resident = residentMib(services.ours)
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
  await asFastAsPossible({ port: PORTS.ours, connections: CONNECTIONS, request: requests(), goesOn })
  const [first, last] = [memoryAt[1], memoryAt.at(-1)]
  if (first !== undefined && last !== undefined) {
    const ratio = last / first
    report({
      row: `memory of the webhook service, after ${MESSAGES} messages`,
      parley: `${Math.round(last)} MiB`,
      against: `after ${MESSAGES / 10}: ${Math.round(first)} MiB`,
      ratio,
      spread: [ratio, ratio],
      reach: { most: 1.15 },
    })
  }
  console.log(`\nMemory of the webhook service over ${MESSAGES} messages`)
  console.table(rows)
}
