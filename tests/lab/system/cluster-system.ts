import { join } from 'node:path'
import type { Server } from '@parley/local/servers/server'
import { restartOnExit } from '@parley/local/system/node-process'
import { startRedisCluster } from '@parley/local/testing/redis-nodes'
import { type BrokerCluster, startBrokerCluster } from './broker-cluster.ts'
import { startNetwork } from './network.ts'
import { inTemporaryState, logging, startOwnSystem } from './own-system.ts'
import { type RoundSystem, readPids } from './proxied-system.ts'
import { type ReplicaSet, startReplicaSet } from './replica-set.ts'

const HOST = '127.0.0.1'
const INSTANCES = { gateway: 2, identity: 2, webhook: 2, configuration: 2, dispatcher: 3 }

/** A whole system on three nodes of each server, with two of each service and three dispatchers. */
export interface ClusterSystem extends RoundSystem {
  rabbitmq: BrokerCluster
  mongodb: ReplicaSet
  /** The nodes of the cluster. */
  redis: Server[]
  directory: string
  stop(): Promise<void>
}

/** Starts a system with temporary state; what ends of it is started again. */
export function startClusterSystem(options: {
  say(line: string): void
  /** Gets what the processes log at level `warn` and above. */
  logFile?: string | undefined
}): Promise<ClusterSystem> {
  const { say, logFile } = options
  return inTemporaryState('cluster', async ({ directory, stopLater }) => {
    say('Starting three nodes each of MongoDB, RabbitMQ and Redis …')
    const mongodb = await startReplicaSet({ directory: join(directory, 'mongodb'), say })
    stopLater(mongodb.stop)
    const rabbitmq = await startBrokerCluster({ directory: join(directory, 'rabbitmq'), say })
    stopLater(rabbitmq.stop)
    const redis = await startRedisCluster({
      directoryOf: (node) => join(directory, `redis/node-${node}`),
      args: ['--appendonly', 'yes'],
    })
    stopLater(() => Promise.all(redis.map((node) => node.stop())))
    const servers = { mongodb: mongodb.nodes, rabbitmq: rabbitmq.nodes, redis }
    stopLater(superviseNodes(Object.values(servers).flat(), logging(logFile).say))
    say('Starting two of each service, and three dispatchers …')
    const own = await startOwnSystem({
      ...{ instances: INSTANCES, logFile, say },
      servers: {
        mongo: clusterAt('MongoDB', mongodb.url),
        rabbitmq: clusterAt('RabbitMQ', rabbitmq.url),
        redis: clusterAt('Redis', `redis+cluster://${redis.map((node) => `${HOST}:${node.port}`).join(',')}`),
        stop: async () => undefined,
      },
    })
    stopLater(own.stop)
    const { system, ready } = own
    const gateways = Object.entries(system.processes).filter(([name]) => /^gateway(-\d)?$/.test(name))
    const gateway = await startNetwork({
      host: HOST,
      ports: gateways.map(([, { url }]) => Number(new URL(url).port)),
    })
    stopLater(() => gateway.close())
    return {
      gatewayUrl: `http://${HOST}:${gateway.port}`,
      simulatorUrl: system.simulatorUrl,
      amqpUrls: rabbitmq.nodes.map(({ url }) => url),
      pids: () => ({ ...readPids(own.directory), ...pidsOf(servers) }),
      ...{ ready, mongodb, rabbitmq, redis, directory },
    }
  })
}

/** Starts nodes again when they end; returns what ends that. */
function superviseNodes(nodes: Server[], say: (line: string) => void): () => Promise<unknown> {
  const stopping = new AbortController()
  const supervised = nodes.map((node) =>
    restartOnExit(node, { say, onRestart: () => undefined, signal: stopping.signal }),
  )
  return () => {
    stopping.abort()
    return Promise.all(supervised)
  }
}

/** Names the nodes `mongodb-1` and so on. */
function pidsOf(servers: Record<string, Server[]>): Record<string, number> {
  const named = Object.entries(servers).flatMap(([name, nodes]) =>
    nodes.flatMap(({ pid }, at) => (pid === undefined ? [] : [[`${name}-${at + 1}`, pid] as const])),
  )
  return Object.fromEntries(named)
}

/** The servers of a cluster as one: its nodes are somebody else's to start and stop. */
const clusterAt = (name: string, url: string): Server => ({
  name,
  url,
  source: 'a cluster of three',
  pid: undefined,
  exited: new Promise(() => undefined),
  isReady: async () => true,
  restart: async () => undefined,
  stop: async () => undefined,
})
