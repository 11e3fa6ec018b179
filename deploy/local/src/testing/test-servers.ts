import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { mongo } from 'mongoose'
import { z } from 'zod'
import { REDIS_DATABASES } from '../servers/redis.ts'
import { externalServer } from '../servers/server.ts'
import { type Servers, startServers } from '../servers/start-servers.ts'
import { TEST_DIRECTORY, TEST_HOST, VHOSTS } from './test-environment.ts'

const START_MS = 120_000
const urlsSchema = z.object({ mongoUrl: z.url(), redisUrl: z.url(), amqpUrl: z.url() })

interface TestServers {
  /** A replica set, shared by all test files: take a database of your own with {@link freshDatabase}. */
  mongoUrl: string
  /** An empty database of Redis that no other test file gets (all share it where REDIS_URL is given). */
  redisUrl: string
  /** An empty virtual host that no other test file gets. Where AMQP_URL is given, that broker must have t0…t71. */
  amqpUrl: string
}

let shared: Promise<TestServers> | undefined

/** The real servers of this run of the tests; started on the first call, the same for a whole test file. */
export function testServers(): Promise<TestServers> {
  shared ??= askForServers()
  return shared
}

/** The name of a database that nobody else uses, and that holds no document. */
export function freshDatabase(prefix: string): string {
  const emptied = readdirSync(emptyDatabases()).filter((name) => name.startsWith(`${prefix}_`))
  return emptied.find(takeDatabase) ?? `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 12)}`
}

/**
 * Gives a database back, emptied: whoever asks for a fresh one by that prefix next gets it with its collections and
 * indexes, which take longer to make than most tests to run. Drop one that has other indexes than the service makes.
 */
export async function releaseDatabase(database: mongo.Db | undefined): Promise<void> {
  if (database === undefined) return
  await emptyDatabase(database)
  mkdirSync(join(emptyDatabases(), database.databaseName))
}

/** Deletes every document, and leaves collections and indexes. */
export async function emptyDatabase(database: mongo.Db): Promise<void> {
  const listed = await database.listCollections({}, { nameOnly: true }).toArray()
  const names = listed.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
  // Each waits for the journal, also where there is nothing to delete.
  await Promise.all(names.map((name) => database.collection(name).deleteMany({})))
}

function emptyDatabases(): string {
  const folder = join(fromEnvironment(TEST_DIRECTORY), 'empty-databases')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Removing a folder is atomic between workers. */
function takeDatabase(name: string): boolean {
  try {
    rmdirSync(join(emptyDatabases(), name))
    return true
  } catch {
    return false
  }
}

/** A new folder that is removed after the run. */
export function freshDirectory(prefix: string): string {
  return mkdtempSync(join(fromEnvironment(TEST_DIRECTORY), `${prefix}-`))
}

/** The servers that all tests share, for a system of processes: databases, virtual host and Redis of its own in them. */
export async function sharedServers(): Promise<Servers & { databaseOf(service: string): string }> {
  const { mongoUrl, amqpUrl, redisUrl } = await testServers()
  const databases = new Map<string, string>()
  const source = 'the run of the tests'
  return {
    mongo: externalServer({ name: 'MongoDB', source, url: mongoUrl }),
    rabbitmq: externalServer({ name: 'RabbitMQ', source, url: amqpUrl }),
    redis: externalServer({ name: 'Redis', source, url: redisUrl }),
    databaseOf(service) {
      const name = databases.get(service) ?? freshDatabase(service)
      databases.set(service, name)
      return name
    },
    async stop() {
      const client = await mongo.MongoClient.connect(mongoUrl)
      for (const name of databases.values()) await releaseDatabase(client.db(name))
      await client.close()
    },
  }
}

/** Servers of the caller's own, for tests that kill and restart them; the caller stops them. */
export function ownServers(): Promise<Servers> {
  return startServers({ directory: freshDirectory('servers'), say: () => undefined, vhosts: ['t0'] })
}

async function askForServers(): Promise<TestServers> {
  const response = await fetch(fromEnvironment(TEST_HOST), { signal: AbortSignal.timeout(START_MS) })
  const body: unknown = await response.json()
  if (!response.ok) throw new Error(`The test servers did not start: ${JSON.stringify(body)}`)
  const { mongoUrl, redisUrl, amqpUrl } = urlsSchema.parse(body)
  const claimed: Partial<TestServers> = {}
  return {
    mongoUrl,
    get redisUrl() {
      claimed.redisUrl ??= process.env.REDIS_URL ? redisUrl : `${redisUrl}/${claim('redis', REDIS_DATABASES)}`
      return claimed.redisUrl
    },
    get amqpUrl() {
      claimed.amqpUrl ??= `${amqpUrl}/${VHOSTS[claim('vhost', VHOSTS.length)]}`
      return claimed.amqpUrl
    },
  }
}

/** Takes the first number that nobody has taken; creating a folder is atomic between workers. */
function claim(kind: string, size: number): number {
  const folder = join(fromEnvironment(TEST_DIRECTORY), 'claims')
  mkdirSync(folder, { recursive: true })
  for (let number = 0; number < size; number++) {
    try {
      mkdirSync(join(folder, `${kind}-${number}`))
      return number
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  throw new Error(`All ${size} of the tests' ${kind} are taken`)
}

function fromEnvironment(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: run the tests with npm test`)
  return value
}
