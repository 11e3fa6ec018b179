import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { findFreePort } from '@parley/local/servers/choose-ports'
import { startServers } from '@parley/local/servers/start-servers'
import { listen, makeServiceKeys, namedSecret, untilReady } from '@parley/local/testing/service-under-test'
import { declareTestLayoutAt, TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import { connect } from 'amqplib'
import mongoose from 'mongoose'
import { inTemporaryState } from './own-system.ts'
import { listening, onLastCore, type Runner, startProcesses } from './processes.ts'

/** A process that listens. */
export interface ListeningProcess extends Runner {
  url: string
  port: number
}

/** How a script is run: on the last core alone, with arguments of Node, and with its own. */
interface Running {
  pinned?: boolean
  nodeArgs?: string[]
  args?: string[]
}

/** Every caller may do everything. */
export const ALL_PERMISSIONS = { permissions: [{ schema: 'true', read: 'true', write: 'true' }] }

const urlNames = ['GATEWAY', 'IDENTITY', 'WEBHOOK', 'CONFIGURATION', 'DISPATCHER', 'CAMPAIGNS']

/**
 * Servers of their own, and processes of this checkout that are started on them one by one. `inner` answers, by its path, what
 * a service asks of the others, unless the environment of the service says that they are elsewhere. `name` is part of what the
 * databases are called; they are dropped in the end.
 */
export function startServiceProcesses({
  name,
  inner = () => ({}),
}: {
  name: string
  inner?(url: string): object
}) {
  return inTemporaryState('bench', async ({ directory, stopLater }) => {
    const servers = await startServers({ directory: join(directory, 'servers'), say: console.error })
    stopLater(servers.stop)
    const [mongoUrl, amqpUrl, redisUrl] = [servers.mongo.url, servers.rabbitmq.url, servers.redis.url]
    await declareTestLayoutAt(amqpUrl)
    const neighbours = await listen((req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(inner(req.url ?? '')))
    })
    stopLater(neighbours.close)
    const prefix = `bench_${name}_${randomUUID().slice(0, 8)}`
    const client = await mongoose.mongo.MongoClient.connect(mongoUrl)
    stopLater(() => client.close())
    stopLater(async () => {
      const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true })
      for (const { name } of databases) if (name.startsWith(prefix)) await client.db(name).dropDatabase()
    })
    const keys = makeServiceKeys()
    const processes = startProcesses()
    stopLater(() => processes.stop('SIGKILL'))
    // A killed process leaves those that it has started itself.
    const others = startProcesses()
    stopLater(() => others.stop())
    const ports: number[] = []
    const newPort = async () => {
      const port = await findFreePort(ports)
      ports.push(port)
      return port
    }
    const portsOf: Partial<Record<ServiceName, number>> = {}
    /** Runs a script of this checkout, or of elsewhere by an absolute path. */
    const run = (script: string, environment: Record<string, string>, running: Running = {}): Runner => {
      const { pinned = false, nodeArgs = [], args = [] } = running
      const given = [...nodeArgs, resolve(CHECKOUT, script), ...args]
      const [command, all] = pinned ? onLastCore(given) : [process.execPath, given]
      return processes.run(command, all, { MONGO_URL: mongoUrl, AMQP_URL: amqpUrl, ...environment })
    }
    /** The same, on a port of its own; resolves once it listens. */
    const runListening = async (
      script: string,
      environment: Record<string, string> = {},
      running: Running = {},
    ): Promise<ListeningProcess> => {
      const own = { PORT: `${await newPort()}`, MONGO_DATABASE: `${prefix}_bare`, ...environment }
      const runner = run(script, own, running)
      const [port, url] = [Number(own.PORT), `http://127.0.0.1:${own.PORT}`]
      await listening(url)
      return { ...runner, url, port }
    }
    return {
      servers,
      run,
      runListening,
      /** Runs a program that is not of this checkout. */
      runCommand: others.run,
      directory,
      innerUrl: neighbours.url,
      databaseName: (service: string) => `${prefix}_${service}`,
      database: (service: string) => client.db(`${prefix}_${service}`),
      /** Starts a service, each time on the same port; resolves once it is ready, the gateway once it listens. */
      async startService(
        service: ServiceName,
        environment: Record<string, string> = {},
        running: Running = {},
      ): Promise<ListeningProcess> {
        const script = service === 'gateway' ? 'gateway/src/server.ts' : `services/${service}/src/server.ts`
        const port = portsOf[service] ?? (await newPort())
        portsOf[service] = port
        const own = {
          PORT: `${port}`,
          ...Object.fromEntries(urlNames.map((neighbour) => [`${neighbour}_URL`, neighbours.url])),
          ...{ LOG_LEVEL: 'warn', REDIS_URL: redisUrl, MONGO_DATABASE: `${prefix}_${service}` },
          ...{ SERVICE_KEY: JSON.stringify(keys.own[service]), SERVICE_JWKS: JSON.stringify(keys.jwks) },
          ...(service === 'identity' && {
            PEPPERS: namedSecret('p'),
            KEY_ENCRYPTION_KEYS: namedSecret('k'),
          }),
        }
        const started = await runListening(script, { ...own, ...environment }, running)
        if (service !== 'gateway') await untilReady(started.url)
        return started
      },
      /** The bearer token by which the gateway asks a service for a caller, good for a minute: an admin when not given. */
      token: (audience: ServiceName, caller: object = callerIn(1)) =>
        createInternalSigner(keys.own.gateway).sign({
          audience,
          caller: caller as ReturnType<typeof callerIn>,
        }),
      /** Empties the queues of all partitions. */
      emptyQueues: () => emptyQueues(amqpUrl),
    }
  })
}

/** The admin of a workspace. */
export function callerIn(workspace: number) {
  return {
    account: { _id: 1, username: 'bench@example.com', name: 'Bench', profile: 1, context: {} },
    workspace: { _id: workspace, name: 'Bench', namespace: 'bench', host: 'bench.example.com' },
    role: { _id: 1, name: 'WORKSPACE_ADMIN', version: 1 },
  }
}

async function emptyQueues(url: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (let partition = 0; partition < TEST_LAYOUT.partitions; partition++)
    await channel.purgeQueue(testQueue(partition))
  await connection.close()
}
