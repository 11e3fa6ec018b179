import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { z } from 'zod'
import { type BaseConfig, baseConfig, ConfigError, parseConfig } from './config.ts'
import { createHttpServer } from './http-server.ts'
import { createLog, type Log } from './log.ts'
import { openServerTls, type ServerTls } from './server-tls.ts'
import type { Service } from './service-app.ts'

const SHUTDOWN_MS = 25_000
// Above the 60 s that load balancers keep idle connections.
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 66_000
const REQUEST_MS = 120_000
const SWEEP_MS = 50
const PRODUCTION_DRAIN_SECONDS = 3

/**
 * The main function of every process: parses the environment, builds the service, listens, and on SIGTERM,
 * SIGINT or the loss of its supervisor says that it is not live any more, stops accepting, finishes what is in
 * flight and closes, in 25 s.
 */
export async function serve<S extends z.ZodRawShape>(options: {
  name: string
  config: S
  build(config: z.output<z.ZodObject<S>> & BaseConfig, log: Log): Promise<Service>
}): Promise<void> {
  const config = await orExit(() => readConfig(options.config))
  const log = createLog({ service: options.name, level: config.LOG_LEVEL })
  const tls = await orExit(() => openServerTls(config, { log }))
  const service = await orExit(() => options.build(config, log))
  const server = createHttpServer(service.app, tls)
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.headersTimeout = HEADERS_MS
  server.requestTimeout = REQUEST_MS
  await listen(server, config)
  const { METRICS_PORT, HOST } = config
  if (METRICS_PORT !== undefined)
    await serveMetrics(service.registry, { host: HOST, port: METRICS_PORT, tls })
  log.info({ port: (server.address() as AddressInfo).port }, 'listening')
  stopOnSignal({ server, service, log, drainMs: drainSeconds(config) * 1_000 })
}

function drainSeconds({ DRAIN_SECONDS, NODE_ENV }: BaseConfig): number {
  return DRAIN_SECONDS ?? (NODE_ENV === 'production' ? PRODUCTION_DRAIN_SECONDS : 0)
}

function readConfig<S extends z.ZodRawShape>(shape: S): z.output<z.ZodObject<S>> & BaseConfig {
  const own = parseConfig(z.object({ ...baseConfig, ...shape }), process.env)
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

function stopOnSignal(options: { server: Server; service: Service; log: Log; drainMs: number }): void {
  const { server, service, log, drainMs } = options
  let stopping = false
  const stop = async (reason: string) => {
    if (stopping) return
    stopping = true
    log.info({ reason }, 'stopping')
    setTimeout(() => process.exit(1), SHUTDOWN_MS).unref()
    service.app.locals.stopping = true
    await delay(drainMs)
    service.endStreams?.()
    await closed(server)
    await service.close()
    log.info('stopped')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
  process.on('disconnect', () => void stop('supervisor gone'))
}

/**
 * Serves `GET /metrics` (Prometheus' text format) on a port of its own, which only operators reach. Resolves when
 * it listens; rejects when the port is taken.
 */
export async function serveMetrics(
  registry: Registry,
  { host, port, tls }: { host: string; port: number; tls?: ServerTls | undefined },
): Promise<Server> {
  collectDefaultMetrics({ register: registry })
  const listener: RequestListener = (req, res) => {
    if (req.url?.split('?', 1)[0] !== '/metrics') return void res.writeHead(404).end()
    if (req.method !== 'GET') return void res.writeHead(405, { allow: 'GET' }).end()
    registry.metrics().then(
      (text) => res.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => res.writeHead(500).end(),
    )
  }
  const server = tls === undefined ? createServer(listener) : tls.createServer({}, listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  return server
}
