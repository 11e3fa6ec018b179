import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { planContainer } from './container-server.ts'
import { planExternalServer } from './external-server.ts'
import type { Engine } from './find-engine.ts'
import { findMongod } from './find-mongod.ts'
import { startNativeServer } from './native-server.ts'
import { checkReplicaSet, isPrimary, REPLICA_SET, replicaSetUrl, shutDown } from './replica-set.ts'
import type { ServerContext, ServerPlan } from './server.ts'

const IMAGE = 'mongo:8.0'

/**
 * MongoDB as a one-node replica set: `MONGO_URL`, a Docker engine, `mongod` on this machine, the official
 * download, or the Windows build under Wine.
 */
export async function planMongodb(
  context: ServerContext,
  options: { engine: Engine | undefined; testCommands: boolean },
): Promise<ServerPlan> {
  const external = process.env.MONGO_URL
  if (external) {
    return planExternalServer({
      ...{ name: 'MongoDB', variable: 'MONGO_URL', url: external, check: checkReplicaSet },
    })
  }
  const port = context.ports.mongodb as number
  const common = { name: 'MongoDB', url: replicaSetUrl(port), isReady: () => isPrimary(port) }
  const { engine, testCommands } = options
  const replication = [
    ...['--replSet', REPLICA_SET, '--port', String(port), '--wiredTigerCacheSizeGB', '0.5'],
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
    prepare: mongod.prepare,
    start: async () => {
      const directory = join(context.directory, 'mongodb')
      const data = join(directory, 'data')
      await mkdir(data, { recursive: true, mode: 0o700 })
      const { command, args, env } = await mongod.command(directory)
      return startNativeServer({
        ...{ ...common, source: mongod.source, directory, command },
        logFile: join(directory, 'mongod.log'),
        args: [
          ...args,
          ...['--dbpath', mongod.pathForMongod(data), '--bind_ip', '127.0.0.1', '--quiet', ...replication],
          // Reads performance counters that Wine lacks, and costs disk anywhere else.
          ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
        ],
        env,
        askToStop: () => shutDown(port),
        signal: context.signal,
      })
    },
  }
}
