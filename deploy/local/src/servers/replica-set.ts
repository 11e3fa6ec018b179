import { mongo } from 'mongoose'

const NAME = 'rs0'
const CHECK_MS = 2_000
const EXTERNAL_CHECK_MS = 5_000
const NOT_YET_INITIALIZED = 94

/** The replica set's name, for mongod's command line. */
export const REPLICA_SET = NAME

/** The URL of a one-node replica set on this machine. */
export function replicaSetUrl(port: number): string {
  return `mongodb://127.0.0.1:${port}/?replicaSet=${NAME}`
}

/**
 * Whether the server on `port` is the primary of its one-node replica set. When it is not in one yet, or
 * knows itself under the port of an earlier start, sets that right.
 */
export function isPrimary(port: number): Promise<boolean> {
  return withAdmin(`mongodb://127.0.0.1:${port}/?directConnection=true`, CHECK_MS, async (admin) => {
    const host = `127.0.0.1:${port}`
    const hello = await admin.command({ hello: 1 })
    if (hello.isWritablePrimary) return hello.me === host
    const config = await readConfig(admin)
    const members = [{ _id: 0, host }]
    if (config === undefined) await admin.command({ replSetInitiate: { _id: NAME, members } })
    else if (config.members[0]?.host !== host) {
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
export async function checkReplicaSet(url: string): Promise<void> {
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

async function withAdmin<T>(
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
