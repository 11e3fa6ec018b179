import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type Engine, planContainer } from './container-server.ts'
import { findBinary } from './find-binary.ts'
import { startNativeServer } from './native-server.ts'
import { planExternalServer, type ServerContext, type ServerPlan } from './server.ts'

const IMAGE = 'redis:8.2'
const CHECK_MS = 2_000
const EXTERNAL_CHECK_MS = 5_000
/** Tests take a database of it each. */
export const REDIS_DATABASES = 256
const OPTIONS = [
  '--databases',
  String(REDIS_DATABASES),
  '--appendonly',
  'yes',
  '--appendfsync',
  'everysec',
  '--save',
  '',
]

/** Redis: `REDIS_URL`, a Docker engine, or `redis-server` on this machine. */
export function planRedis(context: ServerContext, engine: Engine | undefined): ServerPlan {
  const external = process.env.REDIS_URL
  if (external) {
    return planExternalServer({ name: 'Redis', variable: 'REDIS_URL', url: external, check: checkRedis })
  }
  const port = context.ports.redis as number
  const url = `redis://127.0.0.1:${port}`
  const isReady = () => respondsToPing(port)
  if (engine) {
    return planContainer({ name: 'Redis', image: IMAGE, engine, context, port }, async () => ({
      url,
      isReady,
      // Connections through the published port do not come from the container's own loopback address.
      command: [
        'redis-server',
        '--port',
        String(port),
        '--dir',
        '/data',
        '--protected-mode',
        'no',
        ...OPTIONS,
      ],
      data: { folder: 'redis', target: '/data' },
      files: [],
    }))
  }
  return {
    packages: findBinary('redis-server') ? [] : ['redis-server'],
    prepare: async () => undefined,
    start: async () => {
      const directory = join(context.directory, 'redis')
      await mkdir(join(directory, 'data'), { recursive: true, mode: 0o700 })
      const command = findBinary('redis-server') ?? 'redis-server'
      const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', join(directory, 'data')]
      return startNativeServer({
        name: 'Redis',
        url,
        source: 'redis-server on this machine',
        directory,
        command,
        isReady,
        logFile: join(directory, 'redis.log'),
        args: [...place, ...OPTIONS, ...preserveEnvironment(command)],
        env: {},
        signal: context.signal,
      })
    },
  }
}

/** By default Redis overwrites its environment, with the mark of its owner in it, by its process title. */
function preserveEnvironment(command: string): string[] {
  const version = execFileSync(command, ['--version'], { encoding: 'utf8', timeout: CHECK_MS })
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(version)?.map(Number) ?? []
  const known = major !== undefined && minor !== undefined && (major > 6 || (major === 6 && minor >= 2))
  return known ? ['--set-proc-title', 'no'] : []
}

/** While Redis still loads its data it responds, but not with PONG. */
function respondsToPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: CHECK_MS })
    const end = (ready: boolean) => {
      socket.destroy()
      resolve(ready)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (reply) => end(reply.toString().startsWith('+PONG')))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}

async function checkRedis(url: string): Promise<void> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: EXTERNAL_CHECK_MS,
    commandTimeout: EXTERNAL_CHECK_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let reason: Error | undefined
  client.on('error', (error) => {
    reason = error
  })
  try {
    await client.connect()
    await client.ping()
  } catch (error) {
    throw reason ?? error
  } finally {
    client.disconnect()
  }
}
