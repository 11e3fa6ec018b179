import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BaseConfig, baseConfig, type PublicJwk, parseConfig } from '@parley/shared/config'
import { createHttpServer } from '@parley/shared/http-server'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { createLog, type Log } from '@parley/shared/log'
import { openServerTls, type ServerTls } from '@parley/shared/server-tls'
import type { Service } from '@parley/shared/service-app'
import { z } from 'zod'

/** Whatever `JSON.parse` gives: a test looks into what came back. */
export type Parsed = ReturnType<typeof JSON.parse>

const CONDITION_MS = 60_000
const FIRST_PAUSE_MS = 5
const PAUSE_GROWTH = 1.4
/** Each question costs the service and its database as much as a caller's. */
const MAX_PAUSE_MS = 100
const KEEP_ALIVE_MS = 65_000

export interface ServiceKeys {
  own: Record<ServiceName, PublicJwk & { d: string }>
  jwks: { keys: PublicJwk[] }
}

/** A key for every service, as it is in the environment of each process. */
export function makeServiceKeys(): ServiceKeys {
  const own = Object.fromEntries(
    SERVICES.map((kid) => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return [kid, { ...privateKey.export({ format: 'jwk' }), kid }]
    }),
  ) as ServiceKeys['own']
  return { own, jwks: { keys: Object.values(own).map(({ d: _d, ...published }) => published) } }
}

/** A secret with an id, as a key ring in the environment has it. */
export const namedSecret = (id: string, bytes = 32): string =>
  `${id}:${randomBytes(bytes).toString('base64')}`

export interface Listening {
  url: string
  close(): Promise<void>
}

/** Serves `handler` on a free port, over TLS with `tls`. Closing cuts what is under way. */
export async function listen(handler: RequestListener, tls?: ServerTls): Promise<Listening> {
  const server = createHttpServer(handler, tls)
  // As `serve` sets it: with Node's 5 s, an idle connection is closed at the moment when a busy test uses it again.
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface RunningService extends Listening, Pick<Service, 'app' | 'registry'> {
  /** The paths that it was asked for. */
  requests: string[]
  /** While true, every connection is cut: to its callers the service is unavailable. */
  unavailable: boolean
}

/**
 * Runs a real service in this process on a free port, with an environment as its own process would have it. It is ready
 * then, unless its servers are `unavailable` on purpose.
 */
export async function startService<S extends z.ZodRawShape>(options: {
  name: ServiceName
  config: S
  build(config: z.output<z.ZodObject<S>> & BaseConfig, log: Log): Promise<Service>
  keys: ServiceKeys
  environment: Record<string, string>
  servers?: 'unavailable'
}): Promise<RunningService> {
  const { name, keys, environment, servers } = options
  const parsed = parseConfig(z.object({ ...baseConfig, ...options.config }), {
    NODE_ENV: 'test',
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own[name]),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    ...environment,
  })
  const log = createLog({ service: name, level: process.env.TEST_LOG ?? 'silent' })
  const config = parsed as z.output<z.ZodObject<S>> & BaseConfig
  const service = await options.build(config, log)
  const tls = await openServerTls(config, { log })
  const listening = await listen((req, res) => {
    if (running.unavailable) return void req.socket.destroy()
    running.requests.push(req.url ?? '')
    service.app(req, res)
  }, tls)
  const stop = async () => {
    await listening.close()
    await tls?.close()
    await service.close()
  }
  let stopped: Promise<void> | undefined
  const running: RunningService = {
    url: listening.url,
    app: service.app,
    registry: service.registry,
    requests: [],
    unavailable: false,
    close: () => (stopped ??= stop()),
  }
  if (servers !== 'unavailable') await untilReady(listening.url)
  return running
}

/** Waits until the service is ready and nothing that it depends on is unavailable; throws after 60 s. */
export async function untilReady(url: string): Promise<void> {
  await eventually(async () => {
    const { status } = (await (await fetch(`${url}/health/ready`)).json()) as { status: unknown }
    return status === 'ready'
  })
}

/** The value of a condition once it is true. */
type Found<T> = Exclude<T, undefined | null | false>

/**
 * Asks `condition` again and again, at ever longer intervals, until it gives something else than undefined, null or
 * false; throws after 60 s, or `timeoutMs`.
 */
export async function eventually<T>(
  condition: () => Promise<T> | T,
  { timeoutMs = CONDITION_MS } = {},
): Promise<Found<T>> {
  const deadline = performance.now() + timeoutMs
  let pauseMs = FIRST_PAUSE_MS
  while (performance.now() < deadline) {
    const value = await condition()
    if (value !== undefined && value !== null && value !== false) return value as Found<T>
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS)
  }
  throw new Error(`the condition did not come true within ${timeoutMs} ms`)
}
