import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { installPackages } from '@parley/local/servers/apt'
import { findFreePort } from '@parley/local/servers/choose-ports'
import { findMongod } from '@parley/local/servers/find-mongod'
import { startNativeMongod, withAdmin } from '@parley/local/servers/mongodb'
import type { Server } from '@parley/local/servers/server'
import { waitUntil } from '@parley/local/wait-until'

const HOST = '127.0.0.1'
const NAME = 'rs0'
const CACHE_GIB = '0.25'
const ASK_MS = 3_000
const ELECTED_MS = 60_000
/** Settings that docs/operations.md asks of a replica set. */
const SETTINGS = { electionTimeoutMillis: 5_000 }

export interface ReplicaSet {
  nodes: Server[]
  /** Names all of them. */
  url: string
  /** The index of the primary in `nodes`; undefined while there is none. */
  primary(): Promise<number | undefined>
  /** Has the primary step down, for `seconds` at least. */
  stepDown(seconds: number): Promise<void>
  stop(): Promise<void>
}

/** Starts a replica set of three and waits until it has a primary and two secondaries. */
export async function startReplicaSet(options: {
  directory: string
  say(line: string): void
}): Promise<ReplicaSet> {
  const { directory, say } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { signal } = new AbortController()
  const context = { directory, ports: {}, say, signal }
  const mongod = await findMongod(context)
  await installPackages(mongod.packages, context)
  await mongod.download()
  await mongod.prepare()
  const ports: number[] = []
  for (let node = 0; node < 3; node++) ports.push(await findFreePort(ports))
  const nodes = await Promise.all(
    ports.map((port, at) =>
      startNativeMongod({
        name: 'MongoDB',
        url: urlOf(port),
        mongod,
        port,
        directory: join(directory, `node-${at + 1}`),
        args: ['--replSet', NAME, '--port', String(port), '--wiredTigerCacheSizeGB', CACHE_GIB],
        isReady: async () => (await helloOf(port)) !== undefined,
        signal,
      }),
    ),
  )
  const set: ReplicaSet = {
    nodes,
    url: `mongodb://${ports.map((port) => `${HOST}:${port}`).join(',')}/?replicaSet=${NAME}`,
    async primary() {
      const states = await Promise.all(ports.map((port) => helloOf(port).catch(() => undefined)))
      const at = states.findIndex((hello) => hello?.isWritablePrimary === true)
      return at < 0 ? undefined : at
    },
    async stepDown(seconds) {
      const at = await set.primary()
      if (at === undefined) throw new Error('There is no primary')
      await withAdmin(urlOf(ports[at] ?? 0), ASK_MS, (admin) => admin.command({ replSetStepDown: seconds }))
    },
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  }
  const members = ports.map((port, _id) => ({ _id, host: `${HOST}:${port}` }))
  await withAdmin(urlOf(ports[0] ?? 0), ASK_MS, (admin) =>
    admin.command({ replSetInitiate: { _id: NAME, members, settings: SETTINGS } }),
  )
  const isWhole = async () => {
    const states = await Promise.all(ports.map((port) => helloOf(port).catch(() => undefined)))
    return states.every((hello) => hello?.isWritablePrimary === true || hello?.secondary === true)
  }
  if (await waitUntil(isWhole, { timeoutMs: ELECTED_MS })) return set
  await set.stop()
  throw new Error('The members of the replica set did not find together')
}

const urlOf = (port: number) => `mongodb://${HOST}:${port}/?directConnection=true`

const helloOf = (port: number) => withAdmin(urlOf(port), ASK_MS, (admin) => admin.command({ hello: 1 }))
