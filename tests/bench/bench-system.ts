import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen, makeServiceKeys, untilReady } from '@parley/local/testing/service-under-test'
import { createInternalSigner } from '@parley/shared/internal-token'
import mongoose from 'mongoose'
import { inTemporaryState } from '../dispatch/temporary-state.ts'
import { listening, type Runner, startProcesses } from './processes.ts'

/** Databases and the configuration service in a process of its own, on servers of its own. */
interface BenchSystem {
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

type RunningProcess = Pick<Runner, 'stop'> & { url: string }

/** `name` is part of what the databases are called; they are dropped when it stops. */
export function startBenchSystem(name: string): Promise<BenchSystem> {
  return inTemporaryState('bench', async ({ directory, stopLater }) => {
    const servers = await startServers({ directory, say: console.error })
    stopLater(servers.stop)
    const keys = makeServiceKeys()
    const identity = await listen((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ permissions: [{ schema: 'true', read: 'true', write: 'true' }] }))
    })
    stopLater(identity.close)
    const database = `bench_${name}_${randomUUID().slice(0, 8)}`
    stopLater(() => drop(servers.mongo.url, [database, `${database}_bare`]))
    const processes = startProcesses()
    stopLater(processes.stop)
    const ports = { configuration: await freePort(), script: await freePort() }
    const start = async (script: string, environment: Record<string, string>): Promise<RunningProcess> => {
      const own = { MONGO_URL: servers.mongo.url, ...environment }
      const { stop } = processes.run(process.execPath, [join(CHECKOUT, script)], own)
      const url = `http://127.0.0.1:${environment.PORT}`
      await listening(url)
      return { url, stop }
    }
    return {
      mongo: { url: servers.mongo.url, database },
      servers,
      startConfiguration: async (environment = {}) => {
        const started = await start('services/configuration/src/server.ts', {
          PORT: ports.configuration,
          LOG_LEVEL: 'fatal',
          MONGO_DATABASE: database,
          SERVICE_KEY: JSON.stringify(keys.own.configuration),
          SERVICE_JWKS: JSON.stringify(keys.jwks),
          IDENTITY_URL: identity.url,
          AMQP_URL: servers.rabbitmq.url,
          ...environment,
        })
        await untilReady(started.url)
        return started
      },
      startScript: (script, environment) =>
        start(script, { PORT: ports.script, MONGO_DATABASE: `${database}_bare`, ...environment }),
      token: (workspace) =>
        createInternalSigner(keys.own.gateway).sign({
          audience: 'configuration',
          caller: callerIn(workspace),
        }),
    }
  })
}

async function freePort(): Promise<string> {
  const { url, close } = await listen(() => undefined)
  await close()
  return new URL(url).port
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
