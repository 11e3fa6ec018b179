import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen, makeServiceKeys } from '@parley/local/testing/service-under-test'
import { createInternalSigner } from '@parley/shared/internal-token'
import mongoose from 'mongoose'

/** Databases and the configuration service in a process of its own, on servers of its own. */
export interface BenchSystem {
  mongo: { url: string; database: string }
  /** Starts the configuration service, each time on the same port, and waits until it is ready. */
  startConfiguration(environment?: Record<string, string>): Promise<RunningProcess>
  /** Starts a script of this checkout on a port of its own and waits until it listens. */
  startScript(script: string, environment: Record<string, string>): Promise<RunningProcess>
  /** The bearer token of an admin of the workspace, good for a minute. */
  token(workspace: number): string
  servers: Awaited<ReturnType<typeof startServers>>
  stop(): Promise<void>
}

export interface RunningProcess {
  url: string
  /** `SIGTERM`, or another signal; waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

const START_MS = 120_000

/** `name` is part of what the databases are called; they are dropped when it stops. */
export async function startBenchSystem(name: string): Promise<BenchSystem> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  const servers = await startServers({ directory, say: console.error })
  const keys = makeServiceKeys()
  const identity = await listen((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ permissions: [{ schema: 'true', read: 'true', write: 'true' }] }))
  })
  const database = `bench_${name}_${randomUUID().slice(0, 8)}`
  const ports = { configuration: await freePort(), script: await freePort() }
  const running = new Set<RunningProcess>()
  const start = async (script: string, ready: string, environment: Record<string, string>) => {
    const started = startProcess(script, { MONGO_URL: servers.mongo.url, ...environment })
    running.add(started)
    await until(`${started.url}${ready}`)
    return started
  }
  return {
    mongo: { url: servers.mongo.url, database },
    servers,
    startConfiguration: (environment = {}) =>
      start('services/configuration/src/server.ts', '/health/ready', {
        PORT: ports.configuration,
        LOG_LEVEL: 'fatal',
        MONGO_DATABASE: database,
        SERVICE_KEY: JSON.stringify(keys.own.configuration),
        SERVICE_JWKS: JSON.stringify(keys.jwks),
        IDENTITY_URL: identity.url,
        AMQP_URL: servers.rabbitmq.url,
        ...environment,
      }),
    startScript: (script, environment) =>
      start(script, '/health/live', {
        PORT: ports.script,
        MONGO_DATABASE: `${database}_bare`,
        ...environment,
      }),
    token: (workspace) =>
      createInternalSigner(keys.own.gateway).sign({ audience: 'configuration', caller: callerIn(workspace) }),
    stop: async () => {
      await Promise.all([...running].map((each) => each.stop()))
      await drop(servers.mongo.url, [database, `${database}_bare`])
      await identity.close()
      await servers.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function startProcess(script: string, environment: Record<string, string>): RunningProcess {
  const child: ChildProcess = spawn(process.execPath, [join(CHECKOUT, script)], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    url: `http://127.0.0.1:${environment.PORT}`,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal)
      return gone
    },
  }
}

async function freePort(): Promise<string> {
  const { url, close } = await listen(() => undefined)
  await close()
  return new URL(url).port
}

async function until(url: string): Promise<void> {
  const deadline = performance.now() + START_MS
  for (;;) {
    const answer = await fetch(url).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer && (answer.status === 200 || url.endsWith('/live'))) return
    if (performance.now() > deadline) throw new Error(`${url} did not answer 200 in time`)
    await sleep(100)
  }
}

async function drop(url: string, databases: string[]): Promise<void> {
  const client = await mongoose.mongo.MongoClient.connect(url)
  for (const name of databases) await client.db(name).dropDatabase()
  await client.close()
}

function callerIn(workspace: number) {
  return {
    account: { _id: 1, username: 'bench@example.com', name: 'Bench', profile: 1, context: {} },
    workspace: { _id: workspace, name: 'Bench', namespace: 'bench', host: 'bench.example.com' },
    role: { _id: 1, name: 'WORKSPACE_ADMIN', version: 1 },
  }
}
