import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeCursor } from '@parley/configuration/store/list-cursor'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen, makeServiceKeys, untilReady } from '@parley/local/testing/service-under-test'
import { integer, parseConfig } from '@parley/shared/config'
import { createInternalSigner } from '@parley/shared/internal-token'
import mongoose from 'mongoose'
import { z } from 'zod'
import { type Call, closedLoop, type Measured } from './closed-loop.ts'
import { seedTasks, taskBody } from './seed-tasks.ts'

const size = z.object({
  TASKS: integer({ min: 1_000, max: 5_000_000 }).default(1_000_000).describe('Tasks of one workspace'),
  DURATION: integer({ min: 1, max: 60 }).default(5).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 256 }).default(32).describe('Requests under way at a time'),
})
const RUNS = 3
const START_MS = 30_000
const WORKSPACE = 1
const RUN = randomUUID().slice(0, 8)
const DATABASES = { ours: `bench_configuration_${RUN}`, bare: `bench_bare_${RUN}` }
const PORTS = { ours: 18_411, bare: 18_412 }

const { TASKS, DURATION, CONNECTIONS } = parseConfig(size, process.env)
const directory = await mkdtemp(join(tmpdir(), 'parley-bench-'))
const servers = await startServers({ directory, say: console.error })
const keys = makeServiceKeys()
const identity = await listen((_req, res) => {
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end(JSON.stringify({ permissions: [{ schema: 'true', read: 'true', write: 'true' }] }))
})
const ours = run('services/configuration/src/server.ts', {
  ...{ PORT: String(PORTS.ours), LOG_LEVEL: 'warn', MONGO_DATABASE: DATABASES.ours },
  SERVICE_KEY: JSON.stringify(keys.own.configuration),
  SERVICE_JWKS: JSON.stringify(keys.jwks),
  IDENTITY_URL: identity.url,
  AMQP_URL: servers.rabbitmq.url,
})
const bare = run('tests/bench/bare-express-mongoose.ts', {
  ...{ PORT: String(PORTS.bare), MONGO_DATABASE: DATABASES.bare },
})
try {
  await Promise.all(Object.values(PORTS).map(untilListening))
  await untilReady(`http://127.0.0.1:${PORTS.ours}`)
  await compare()
  await measureLists()
} finally {
  await Promise.all([ours, bare].map(stop))
  await dropDatabases()
  await identity.close()
  await servers.stop()
  await rm(directory, { recursive: true, force: true })
}

function run(script: string, env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [join(CHECKOUT, script)], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, MONGO_URL: servers.mongo.url, ...env },
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}

async function dropDatabases(): Promise<void> {
  const client = await mongoose.mongo.MongoClient.connect(servers.mongo.url)
  for (const name of Object.values(DATABASES)) await client.db(name).dropDatabase()
  await client.close()
}

async function untilListening(port: number): Promise<void> {
  const until = performance.now() + START_MS
  for (;;) {
    const answered = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined)
    if (answered !== undefined) return void (await answered.body?.cancel())
    if (performance.now() > until) throw new Error(`nothing listens on port ${port}`)
    await sleep(100)
  }
}

/** Each kind of request against both, in turns; the median of three runs. */
async function compare(): Promise<void> {
  const first = taskBody(1)
  const kinds: Record<string, (index: number) => Call> = {
    'POST, a new document': () => ({ method: 'POST', path: '/rest/tasks', body: first }),
    'PUT, one of 1,000': (at) => ({ method: 'PUT', path: `/rest/tasks/${1 + (at % 1_000)}`, body: first }),
    'GET, one of 1,000': (at) => ({ method: 'GET', path: `/rest/tasks/${1 + (at % 1_000)}` }),
    'GET, a list of 50': () => ({ method: 'GET', path: '/rest/tasks' }),
  }
  const rows: Record<string, object> = {}
  for (const [kind, next] of Object.entries(kinds)) {
    const runs: { ours: Measured[]; bare: Measured[] } = { ours: [], bare: [] }
    for (let count = 0; count < RUNS; count++) {
      runs.ours.push(await load('ours', WORKSPACE, next))
      runs.bare.push(await load('bare', WORKSPACE, next))
    }
    const [mine, theirs] = [median(runs.ours), median(runs.bare)]
    rows[kind] = {
      'requests/s': Math.round(mine.perSecond),
      'p99 ms': mine.p99.toFixed(1),
      'bare requests/s': Math.round(theirs.perSecond),
      'bare p99 ms': theirs.p99.toFixed(1),
      ratio: (mine.perSecond / theirs.perSecond).toFixed(2),
      failures: mine.failures + theirs.failures,
    }
  }
  console.log(`\nBeside a bare express + mongoose handler, ${CONNECTIONS} connections`)
  console.table(rows)
}

/** First, middle and late pages of what a workspace of many tasks is listed by. */
async function measureLists(): Promise<void> {
  const progress = (done: number) => console.error(`${done} of ${TASKS} tasks stored`)
  const mongo = { url: servers.mongo.url, database: DATABASES.ours }
  await seedTasks({ mongo, workspace: WORKSPACE + 1, count: TASKS, progress })
  const timeOf = (id: number) => new Date(Date.UTC(2026, 0, 1) + id * 1_000).toISOString()
  const orders: Record<string, (id: number) => { value: string | null; id: number }> = {
    _id: (id) => ({ value: null, id }),
    '-updatedAt': (id) => ({ value: timeOf(TASKS - id), id: TASKS - id }),
  }
  const rows: Record<string, object> = {}
  for (const filter of ['', '&status=active', '&workflow=7']) {
    for (const [sort, position] of Object.entries(orders)) {
      for (const [place, id] of Object.entries({ first: 0, middle: TASKS * 0.5, late: TASKS * 0.9 })) {
        const cursor = id === 0 ? '' : `&after=${encodeCursor(sort, position(Math.floor(id)))}`
        const path = `/rest/tasks?limit=50&sort=${sort}${filter}${cursor}`
        const { perSecond, p50, p99, failures } = await load('ours', WORKSPACE + 1, () => ({
          method: 'GET',
          path,
        }))
        rows[`sort=${sort}${filter}, ${place} page`] = {
          'pages/s': Math.round(perSecond),
          'p50 ms': p50.toFixed(1),
          'p99 ms': p99.toFixed(1),
          failures,
        }
      }
    }
  }
  console.log(`\nPages of 50 from ${TASKS} tasks, ${CONNECTIONS} connections`)
  console.table(rows)
}

function load(
  target: keyof typeof PORTS,
  workspace: number,
  next: (index: number) => Call,
): Promise<Measured> {
  const signer = createInternalSigner(keys.own.gateway)
  const authorization = `Bearer ${signer.sign({ audience: 'configuration', caller: callerIn(workspace) })}`
  return closedLoop({
    url: `http://127.0.0.1:${PORTS[target]}`,
    connections: CONNECTIONS,
    seconds: DURATION,
    headers: () => ({ authorization }),
    next,
  })
}

function callerIn(workspace: number) {
  return {
    account: { _id: 1, username: 'bench@example.com', name: 'Bench', profile: 1, context: {} },
    workspace: { _id: workspace, name: 'Bench', namespace: 'bench', host: 'bench.example.com' },
    role: { _id: 1, name: 'WORKSPACE_ADMIN', version: 1 },
  }
}

function median(runs: Measured[]): Measured {
  const sorted = runs.toSorted((a, b) => a.perSecond - b.perSecond)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
