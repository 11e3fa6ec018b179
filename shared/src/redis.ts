import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { Log } from './log.ts'
import { parseRedisUrl, readTlsFiles } from './server-url.ts'

const TIMEOUT_MS = 1_000
const RETRY_STEP_MS = 100
const MAX_RETRY_MS = 2_000
// While a cluster elects a new master, commands for its slots are tried again for about a second.
const MAX_REDIRECTIONS = 8

/**
 * Connects to Redis, its Cluster or its Sentinels, in the background and again after every loss, at most 2 s apart.
 * Commands fail at once while it is unavailable, and after 1 s when it does not answer: then a single Redis counts as
 * unavailable until a new connection answers, while a node of a cluster is waited for by each command. What is sent to a
 * single Redis in one tick goes out together.
 */
export function connectRedis(url: string, log: Log): Redis {
  const redis = clientFor(url)
  let lost = false
  redis.on('ready', () => {
    lost = false
  })
  redis.on('error', (error: Error) => {
    if (!lost) log.warn({ reason: error.message }, 'redis is unavailable: going on without until it is back')
    lost = true
  })
  // A cluster has what the services use as well: commands over one key or keys of one slot.
  return redis as Redis
}

function clientFor(text: string): Redis | Cluster {
  const url = parseRedisUrl(text)
  const { kind, hosts, path = '', username, password } = url
  const [first] = hosts
  const tls = url.scheme.startsWith('rediss') ? { tls: readTlsFiles(url) } : {}
  const account = { ...(username ? { username } : {}), ...(password ? { password } : {}), ...tls }
  const nodes = hosts.map(({ hostname, port }) => ({ host: hostname, port }))
  if (kind === 'cluster') return clusterOf(nodes, account)
  const options = {
    ...account,
    ...TIMEOUTS,
    retryStrategy,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
  }
  if (kind === 'single')
    return new Redis({
      ...options,
      host: first?.hostname ?? '',
      port: first?.port ?? 0,
      db: databaseIn(path),
    })
  const [name = '', database = ''] = path.split('/')
  const sentinelPassword = url.parameters.get('sentinelPassword')
  return new Redis({
    ...options,
    sentinels: nodes,
    name,
    db: databaseIn(database),
    sentinelRetryStrategy: retryStrategy,
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
    ...(url.scheme === 'rediss+sentinel'
      ? { sentinelTLS: readTlsFiles(url), enableTLSForSentinelMode: true }
      : {}),
  })
}

const TIMEOUTS = { connectTimeout: TIMEOUT_MS, commandTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }

const databaseIn = (path: string): number => Number(path) || 0
const retryStrategy = (attempt: number): number => Math.min(RETRY_STEP_MS * attempt, MAX_RETRY_MS)

type Account = Pick<RedisOptions, 'username' | 'password' | 'tls'>

function clusterOf(nodes: { host: string; port: number }[], account: Account): Cluster {
  return new Cluster(nodes, {
    enableOfflineQueue: false,
    // With automatic pipelines ioredis 6.0.0 throws, outside of any promise, for a slot that it knows no node of.
    enableAutoPipelining: false,
    maxRedirections: MAX_REDIRECTIONS,
    slotsRefreshTimeout: TIMEOUT_MS,
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...account, ...TIMEOUTS, maxRetriesPerRequest: 0 },
  })
}
