import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findOwned } from '@parley/local/processes/owned'
import { installPackages } from '@parley/local/servers/apt'
import { choosePorts } from '@parley/local/servers/choose-ports'
import { startNativeServer } from '@parley/local/servers/native-server'
import { planRabbitmq } from '@parley/local/servers/rabbitmq'
import { planRedis } from '@parley/local/servers/redis'
import { closedLoop } from '../../lab/load/loops.ts'
import { inTemporaryState } from '../../lab/system/own-system.ts'
import { childrenOf, type ProcessGroups, requireProcesses } from '../../lab/system/process-groups.ts'
import { outputOf } from '../../lab/system/processes.ts'
import { type LoadTarget, RECIPIENTS, TOPIC, tenantOf } from '../load-requests.ts'
import type { OutpostBinaries, OutpostParts } from './find-outpost.ts'
import { startPostgres } from './postgres.ts'

const PORTS = ['api', 'postgres', 'redis', 'amqp', 'amqp-distribution', 'amqp-epmd'] as const
const API_KEY = 'bench'
/** Settings that differ from Outpost's defaults beyond addresses and secrets. */
export const SETTINGS = {
  // 1 when not set; 100 in its configuration for development and in its own load test.
  DELIVERY_MAX_CONCURRENCY: '100',
  // As Parley's services run here: no line for a message.
  LOG_LEVEL: 'error',
  DISABLE_TELEMETRY: 'true',
}
const TENANTS_AT_A_TIME = 16

/** Outpost in one process, with RabbitMQ and Redis as Parley has them, and PostgreSQL; all of it on empty data. */
export function startOutpost(options: {
  parts: OutpostParts
  binaries: OutpostBinaries
  say(line: string): void
}) {
  const { parts, binaries, say } = options
  return inTemporaryState('outpost', async ({ directory, stopLater }) => {
    const ports = await choosePorts({ file: join(directory, 'ports.json'), names: PORTS, say })
    const { signal } = new AbortController()
    const context = { directory, ports, say, signal }
    const plans = [
      planRabbitmq(context, { engine: undefined, vhosts: [] }),
      planRedis(context, undefined),
    ] as const
    const packages = plans.flatMap((plan) => plan.packages)
    await installPackages(packages, context)
    const starting = {
      rabbitmq: plans[0].start(),
      redis: plans[1].start(),
      postgres: startPostgres({
        directory: join(directory, 'postgres'),
        binaries: parts.postgres,
        port: ports.postgres,
      }),
    }
    const started = await Promise.allSettled(Object.values(starting))
    for (const server of started) if (server.status === 'fulfilled') stopLater(server.value.stop)
    const env = {
      ...SETTINGS,
      API_PORT: String(ports.api),
      API_KEY,
      API_JWT_SECRET: 'bench',
      AES_ENCRYPTION_SECRET: '0123456789abcdef0123456789abcdef',
      TOPICS: TOPIC,
      REDIS_HOST: '127.0.0.1',
      REDIS_PORT: String(ports.redis),
      POSTGRES_URL: (await starting.postgres).url,
      RABBITMQ_SERVER_URL: (await starting.rabbitmq).url,
    }
    await starting.redis
    await outputOf(binaries.outpost, ['migrate', 'apply', '--yes'], env)
    const url = `http://127.0.0.1:${ports.api}`
    const folder = join(directory, 'outpost')
    await mkdir(folder)
    const server = await startNativeServer({
      name: 'Outpost',
      url,
      source: parts.source,
      directory: folder,
      command: binaries.server,
      args: [],
      env,
      logFile: join(folder, 'console.log'),
      isReady: () => isReady(url),
      signal,
    })
    stopLater(server.stop)
    const ownedBy = (name: string) => findOwned(join(directory, name)).map(({ pid }) => pid)
    const postgres = (await starting.postgres).pid
    return {
      /** PostgreSQL's processes come and go. */
      groups(): ProcessGroups {
        return requireProcesses({
          Outpost: { pids: ownedBy('outpost'), instances: 1 },
          PostgreSQL: {
            pids: postgres === undefined ? [] : [postgres, ...childrenOf(postgres)],
            instances: 1,
          },
          RabbitMQ: { pids: ownedBy('rabbitmq'), instances: 1 },
          Redis: { pids: ownedBy('redis'), instances: 1 },
        })
      },
      makeTarget: (callbackUrl: string) => makeTarget({ port: ports.api, url, callbackUrl }),
    }
  })
}

/** As many tenants as Parley has threads, each with a webhook destination. */
async function makeTarget(options: { port: number; url: string; callbackUrl: string }): Promise<LoadTarget> {
  const { port, url, callbackUrl } = options
  const destination = { type: 'webhook', topics: [TOPIC], config: { url: callbackUrl } }
  await closedLoop({
    workers: TENANTS_AT_A_TIME,
    goesOn: (count) => count < RECIPIENTS,
    async send(recipient) {
      const path = `/api/v1/tenants/${tenantOf(recipient)}`
      await call(url + path, { method: 'PUT', body: {} })
      await call(`${url + path}/destinations`, { method: 'POST', body: destination })
    },
  })
  return { api: 'outpost', port, token: API_KEY }
}

async function call(url: string, { method, body }: { method: string; body: object }): Promise<void> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} gave ${response.status}: ${text.slice(0, 200)}`)
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/api/v1/healthz`).catch(() => undefined)
  await response?.body?.cancel()
  return response?.ok === true
}
