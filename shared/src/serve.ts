import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type BaseConfig, baseConfig, ConfigError, parseConfig } from './config.ts'
import { createHttpServer } from './http-server.ts'
import type { ServiceName } from './internal-token.ts'
import { createLog, type Log } from './log.ts'
import { type Memory, memoryBound } from './memory.ts'
import { serveMetrics } from './metrics-server.ts'
import { openServerTls, type ServerTls } from './server-tls.ts'
import type { Service } from './service-app.ts'

const SHUTDOWN_MS = 25_000
// Above the 60 s that load balancers keep idle connections.
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 66_000
const REQUEST_MS = 120_000
// The gateway ends one that does not go on, or that was answered before.
const UPLOAD_MS = 6 * 60 * 60_000
const SWEEP_MS = 50
const PRODUCTION_DRAIN_SECONDS = 3
const INNER_READY_MS = 10_000
const INNER_CHECK_MS = 50

/** A service, as the process that hosts it needs it. */
interface ServiceDefinition<S extends z.ZodRawShape> {
  name: ServiceName
  config: S
  build(config: z.output<z.ZodObject<S>> & BaseConfig, log: Log): Promise<Service>
}

/** A service whatever its environment is. */
export interface Hosted {
  name: ServiceName
  /** Reads its environment, and throws {@link ConfigError} with all that is wrong. */
  prepare(environment: NodeJS.ProcessEnv): Promise<Prepared>
}

/** A service whose environment was read. */
interface Prepared {
  name: ServiceName
  log: Log
  memory: Memory
  start(): Promise<Started>
}

interface Started {
  server: Server
  service: Service
  log: Log
  drainMs: number
}

/**
 * The main function of a process with one service: parses the environment, builds the service, listens, and on SIGTERM,
 * SIGINT or the loss of its supervisor says that it is not live any more, stops accepting, finishes what is in
 * flight and closes, in 25 s.
 */
export async function serve<S extends z.ZodRawShape>(definition: ServiceDefinition<S>): Promise<void> {
  const prepared = await orExit(() => hosted(definition).prepare(process.env))
  logMemory([prepared])
  stopOnSignal([await orExit(prepared.start)])
}

/** Says once what this process may use: its services share it. */
function logMemory([first]: readonly Prepared[]): void {
  if (first === undefined) return
  const { log, memory } = first
  log.info(memoryBound(memory), 'memory of this process, at most')
}

/**
 * The main function of a process with several services, each with the {@link environmentFor} it. The gateway starts when
 * all others can do their work, or after 10 s without that, and stops before them. What none of them catches ends all.
 */
export async function serveTogether(services: readonly Hosted[]): Promise<void> {
  const prepared = await orExit(async () => {
    const starts = await Promise.allSettled(
      services.map(({ name, prepare }) => prepare(environmentFor(name, process.env))),
    )
    return startsOf(services, starts)
  })
  logMemory(prepared)
  const startAll = (those: typeof prepared) => orExit(() => Promise.all(those.map(({ start }) => start())))
  const inner = await startAll(prepared.filter(({ name }) => name !== 'gateway'))
  if (inner.length < prepared.length) await ready(inner)
  const outer = await startAll(prepared.filter(({ name }) => name === 'gateway'))
  stopOnSignal(outer, inner)
}

/** The environment of one of several services: a key with its name in front, `WEBHOOK_PORT`, is its own and comes before the key that all have. */
export function environmentFor(name: ServiceName, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const prefix = `${name.toUpperCase()}_`
  const own = Object.entries(environment).filter(([key]) => key.startsWith(prefix))
  return {
    ...environment,
    ...Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value])),
  }
}

/** Rejects with what is wrong with any of them. */
function startsOf(services: readonly Hosted[], starts: PromiseSettledResult<Prepared>[]): Prepared[] {
  const mistakes = starts.flatMap((one, at) => {
    if (one.status === 'fulfilled') return []
    if (!(one.reason instanceof ConfigError)) throw one.reason
    return [`${services[at]?.name}: ${one.reason.message}`]
  })
  if (mistakes.length > 0) throw new ConfigError(mistakes.join('\n'))
  return starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}

async function ready(services: readonly Started[]): Promise<void> {
  const until = performance.now() + INNER_READY_MS
  while (performance.now() < until) {
    const states = await Promise.all(services.map(({ service }) => service.app.locals.isReady()))
    if (states.every(Boolean)) return
    await delay(INNER_CHECK_MS)
  }
}

/** The service of a definition, to be hosted beside others. */
export function hosted<S extends z.ZodRawShape>({
  name,
  config: shape,
  build,
}: ServiceDefinition<S>): Hosted {
  return {
    name,
    prepare: async (environment) => {
      const config = readConfig(shape, environment)
      const log = createLog({ service: name, level: config.LOG_LEVEL })
      const tls = await openServerTls(config, { log })
      const start = async () => {
        const service = await build(config, log)
        const server = await open({ service, config, tls, log })
        return { server, service, log, drainMs: drainSeconds(config) * 1_000 }
      }
      return { name, log, memory: config.MEMORY, start }
    },
  }
}

async function open(options: {
  service: Service
  config: BaseConfig
  tls: ServerTls | undefined
  log: Log
}): Promise<Server> {
  const { service, config, tls, log } = options
  const server = createHttpServer(service.app, tls)
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.headersTimeout = HEADERS_MS
  server.requestTimeout = service.takesUploads === true ? UPLOAD_MS : REQUEST_MS
  await listen(server, config)
  const { METRICS_PORT, HOST } = config
  if (METRICS_PORT !== undefined)
    await serveMetrics(service.registry, { host: HOST, port: METRICS_PORT, tls })
  log.info({ port: (server.address() as AddressInfo).port }, 'listening')
  return server
}

function drainSeconds({ DRAIN_SECONDS, NODE_ENV }: BaseConfig): number {
  return DRAIN_SECONDS ?? (NODE_ENV === 'production' ? PRODUCTION_DRAIN_SECONDS : 0)
}

function readConfig<S extends z.ZodRawShape>(
  shape: S,
  environment: NodeJS.ProcessEnv,
): z.output<z.ZodObject<S>> & BaseConfig {
  const own = parseConfig(z.object({ ...baseConfig, ...shape }), environment)
  return own as z.output<z.ZodObject<S>> & BaseConfig
}

/** A wrong configuration ends the process with what is wrong, rather than with a stack. */
async function orExit<T>(start: () => T | Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}

function listen(server: Server, { HOST, PORT }: BaseConfig): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(PORT, HOST, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

/** Resolves when the last request is answered; a connection it leaves idle would stay open for 65 s. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
    server.close(() => {
      clearInterval(sweep)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** Those of the first group stop before those of the next. */
function stopOnSignal(...groups: Started[][]): void {
  let stopping = false
  const stopAll = async (reason: string) => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(1), SHUTDOWN_MS).unref()
    for (const group of groups) await Promise.all(group.map((one) => stop(one, reason)))
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stopAll(signal))
  process.on('disconnect', () => void stopAll('supervisor gone'))
}

async function stop({ server, service, log, drainMs }: Started, reason: string): Promise<void> {
  log.info({ reason }, 'stopping')
  service.app.locals.stopping = true
  await delay(drainMs)
  service.endStreams?.()
  await closed(server)
  await service.close()
  log.info('stopped')
}
