import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Memory, sizesOf } from '@parley/shared/memory'
import { mongo } from 'mongoose'
import { type Engine, planContainer } from './container-server.ts'
import { findMongod } from './find-mongod.ts'
import { startNativeServer } from './native-server.ts'
import { planExternalServer, type Server, type ServerContext, type ServerPlan } from './server.ts'
import type { Mongod } from './wine-mongod.ts'

const IMAGE = 'mongo:8.0'
const NAME = 'rs0'
const CHECK_MS = 2_000
const EXTERNAL_CHECK_MS = 5_000
const NOT_YET_INITIALIZED = 94
/** The replica set's name, for mongod's command line. */
const REPLICA_SET = NAME

/**
 * MongoDB as a one-node replica set: `MONGO_URL`, a Docker engine, `mongod` on this machine, the official
 * download, or the Windows build under Wine.
 */
export async function planMongodb(
  context: ServerContext,
  options: { engine: Engine | undefined; testCommands: boolean; memory: Memory },
): Promise<ServerPlan> {
  const external = process.env.MONGO_URL
  if (external) {
    return planExternalServer({
      name: 'MongoDB',
      variable: 'MONGO_URL',
      url: external,
      check: checkReplicaSet,
    })
  }
  const port = context.ports.mongodb as number
  const { engine, testCommands, memory } = options
  const isReady = () => isPrimary(port, { waitsForJournal: !testCommands })
  const common = { name: 'MongoDB', url: replicaSetUrl(port), isReady }
  const replication = [
    ...[
      '--replSet',
      REPLICA_SET,
      '--port',
      String(port),
      '--wiredTigerCacheSizeGB',
      `${sizesOf(memory).mongoCacheGb}`,
    ],
    ...(testCommands ? ['--setParameter', 'enableTestCommands=1'] : []),
  ]
  if (engine) {
    return planContainer({ name: 'MongoDB', image: IMAGE, engine, context, port }, async () => ({
      ...common,
      command: ['mongod', '--bind_ip_all', ...replication],
      data: { folder: 'mongodb', target: '/data/db' },
      files: [],
    }))
  }
  const mongod = await findMongod(context)
  return {
    packages: mongod.packages,
    download: mongod.download,
    prepare: mongod.prepare,
    start: () =>
      startNativeMongod({
        ...common,
        mongod,
        port,
        directory: join(context.directory, 'mongodb'),
        args: replication,
        signal: context.signal,
      }),
  }
}

/** Starts one mongod on this machine, with further arguments. */
export async function startNativeMongod(options: {
  name: string
  url: string
  mongod: Mongod
  port: number
  /** Its own folder: data, log, and whatever runs it. */
  directory: string
  args: string[]
  isReady(): Promise<boolean>
  signal: AbortSignal
}): Promise<Server> {
  const { mongod, port, directory, args: further, ...common } = options
  const data = join(directory, 'data')
  await mkdir(data, { recursive: true, mode: 0o700 })
  const { command, args, env } = await mongod.command(directory)
  return startNativeServer({
    ...common,
    source: mongod.source,
    directory,
    command,
    logFile: join(directory, 'mongod.log'),
    args: [
      ...args,
      ...['--dbpath', mongod.pathForMongod(data), '--bind_ip', '127.0.0.1', '--quiet', ...further],
      // Reads performance counters that Wine lacks, and costs disk anywhere else.
      ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
    ],
    env,
    crashText: '"msg":"Unhandled exception"',
    askToStop: () => shutDown(port),
  })
}

/** The URL of a one-node replica set on this machine. */
function replicaSetUrl(port: number): string {
  return `mongodb://127.0.0.1:${port}/?replicaSet=${NAME}`
}

/**
 * True when the server on `port` is the primary of its one-node replica set. When it is not in one yet, or
 * knows itself under the port of an earlier start, sets that right. Where writes need not outlive a crash of the server,
 * they take half of its processor time.
 */
function isPrimary(port: number, { waitsForJournal }: { waitsForJournal: boolean }): Promise<boolean> {
  return withAdmin(`mongodb://127.0.0.1:${port}/?directConnection=true`, CHECK_MS, async (admin) => {
    const host = `127.0.0.1:${port}`
    const hello = await admin.command({ hello: 1 })
    if (hello.isWritablePrimary) return hello.me === host
    const config = await readConfig(admin)
    const members = [{ _id: 0, host }]
    if (config === undefined) {
      const writeConcernMajorityJournalDefault = waitsForJournal
      await admin.command({ replSetInitiate: { _id: NAME, members, writeConcernMajorityJournalDefault } })
    } else if (config.members[0]?.host !== host) {
      await admin.command({
        replSetReconfig: { _id: NAME, version: config.version + 1, members },
        force: true,
      })
    }
    return false
  })
}

/** Asks mongod to end cleanly; it responds by closing the connection. */
export async function shutDown(port: number): Promise<void> {
  const url = `mongodb://127.0.0.1:${port}/?directConnection=true`
  await withAdmin(url, CHECK_MS, async (admin) => {
    await admin.command({ shutdown: 1, force: true }).catch((error: unknown) => {
      if (!(error instanceof mongo.MongoNetworkError)) throw error
    })
  })
}

/** Throws unless `url` leads to the primary of a replica set, which transactions and change streams need. */
async function checkReplicaSet(url: string): Promise<void> {
  const hello = await withAdmin(url, EXTERNAL_CHECK_MS, (admin) => admin.command({ hello: 1 }))
  if (typeof hello.setName !== 'string')
    throw new Error('it is not a replica set; start mongod with --replSet')
}

interface ReplicaSetConfig {
  version: number
  members: { host: string }[]
}

async function readConfig(admin: mongo.Db): Promise<ReplicaSetConfig | undefined> {
  try {
    const { config } = await admin.command({ replSetGetConfig: 1 })
    return config as ReplicaSetConfig
  } catch (error) {
    if (error instanceof mongo.MongoServerError && error.code === NOT_YET_INITIALIZED) return undefined
    throw error
  }
}

/** Uses the database `admin` of the server or replica set that `url` names, over a connection of its own. */
export async function withAdmin<T>(
  url: string,
  timeoutMs: number,
  use: (admin: mongo.Db) => Promise<T>,
): Promise<T> {
  const client = new mongo.MongoClient(url, {
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: timeoutMs,
    socketTimeoutMS: EXTERNAL_CHECK_MS,
  })
  try {
    await client.connect()
    return await use(client.db('admin'))
  } finally {
    await client.close()
  }
}
