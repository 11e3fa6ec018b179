import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Memory } from '@parley/shared/memory'
import { stopOwned } from '../processes/owned.ts'
import { installPackages } from './apt.ts'
import { choosePorts } from './choose-ports.ts'
import { findEngine } from './container-server.ts'
import { planMongodb } from './mongodb.ts'
import { planRabbitmq } from './rabbitmq.ts'
import { planRedis } from './redis.ts'
import type { Server, ServerContext } from './server.ts'

const LEFTOVER_GRACE_MS = 10_000
const PORTS = ['mongodb', 'redis', 'amqp', 'amqp-distribution', 'amqp-epmd'] as const

export interface Servers {
  mongo: Server
  rabbitmq: Server
  redis: Server
  /** Stops all three cleanly, at most 20 s. */
  stop(): Promise<void>
}

interface StartServersOptions {
  /** Holds all their state; what was left running for it by a run that was killed is stopped first. */
  directory: string
  say(line: string): void
  /** Virtual hosts of RabbitMQ beside `/`. */
  vhosts?: string[]
  /** Lets MongoDB take commands that only tests may give: fail points. */
  testCommands?: boolean
  /** How much of it MongoDB's cache may take; `default` when not given. */
  memory?: Memory
  /** Aborting it stops what was started so far and rejects. */
  signal?: AbortSignal
}

/** The three servers, found and fetched, but not yet running. */
export interface PreparedServers {
  start(): Promise<Servers>
}

/**
 * Finds or starts MongoDB, RabbitMQ and Redis, each from the first source that works. Throws a SetupError
 * that says what to do when one can't be had; nothing is left running then. A caller that may be killed
 * outright starts a reaper for `directory` first.
 */
export async function startServers(options: StartServersOptions): Promise<Servers> {
  const { startAll } = await readyServers(options)
  return startAll()
}

/** The part of {@link startServers} that may take minutes on a new machine: packages and downloads. */
export async function prepareServers(options: StartServersOptions): Promise<PreparedServers> {
  const { isReady, startAll } = await readyServers(options)
  await Promise.all(isReady)
  return { start: startAll }
}

/** Begins with what may take minutes; what starts the servers starts each as soon as its own is done. */
async function readyServers(
  options: StartServersOptions,
): Promise<{ isReady: Promise<void>[]; startAll(): Promise<Servers> }> {
  const { directory, say, vhosts = [], testCommands = false, memory = 'default' } = options
  const { signal = new AbortController().signal } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await stopOwned(directory, { graceMs: LEFTOVER_GRACE_MS })
  const ports = await choosePorts({ file: join(directory, 'ports.json'), names: PORTS, say })
  const failing = new AbortController()
  const context = { directory, ports, say, signal: AbortSignal.any([signal, failing.signal]) }
  const plans = await planServers(context, { vhosts, testCommands, memory })
  const packages = plans.flatMap((plan) => plan.packages)
  const installed = installPackages(packages, context)
  const isReady = plans.map(async (plan) => {
    await Promise.all([installed, plan.download?.()])
    await plan.prepare()
  })
  return {
    isReady,
    startAll: () =>
      startAll(
        plans.map((plan, at) => async () => {
          await isReady[at]
          return plan.start()
        }),
        failing,
      ),
  }
}

async function planServers(
  context: ServerContext,
  { vhosts, testCommands, memory }: Required<Pick<StartServersOptions, 'vhosts' | 'testCommands' | 'memory'>>,
) {
  const engine = await findEngine()
  return [
    await planMongodb(context, { engine, testCommands, memory }),
    planRabbitmq(context, { engine, vhosts }),
    planRedis(context, engine),
  ]
}

/** All at once; the first that fails stops the others. */
async function startAll(starts: (() => Promise<Server>)[], failing: AbortController): Promise<Servers> {
  const started: Server[] = []
  const stop = async () => void (await Promise.allSettled(started.map((server) => server.stop())))
  const results = await Promise.allSettled(
    starts.map(async (start) => {
      try {
        const server = await start()
        started.push(server)
        return server
      } catch (error) {
        failing.abort(error)
        throw error
      }
    }),
  )
  const [mongo, rabbitmq, redis] = results.map((result) =>
    result.status === 'fulfilled' ? result.value : undefined,
  )
  if (mongo && rabbitmq && redis) return { mongo, rabbitmq, redis, stop }
  await stop()
  throw failing.signal.reason
}
