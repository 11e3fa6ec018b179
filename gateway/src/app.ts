import { addressKey } from '@parley/shared/addresses'
import { createAuditReports } from '@parley/shared/audit-acts'
import { createTracing } from '@parley/shared/create-tracing'
import { distance } from '@parley/shared/distance'
import type { PendingResponse } from '@parley/shared/exchange'
import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { createObserver } from '@parley/shared/observe-requests'
import { Problem } from '@parley/shared/problem'
import { connectRedis } from '@parley/shared/redis'
import { createApp, type Readiness, type Service } from '@parley/shared/service-app'
import { createServiceCalls, type ServiceCalls, type Target } from '@parley/shared/service-calls'
import type { Express, Request } from 'express'
import { Registry } from 'prom-client'
import { createAccessTokens } from './access-tokens.ts'
import { awaitBody, boundRest } from './await-body.ts'
import { type Callers, createCallers } from './callers.ts'
import type { GatewayConfig } from './config.ts'
import { consolePages } from './console.ts'
import { documentation } from './documentation.ts'
import { createEventStreams } from './event-streams.ts'
import { forwarding } from './forward.ts'
import { clientAddress, gatekeeper } from './gatekeeper.ts'
import { followInstances, type Instances } from './instances.ts'
import { createKeySet, type KeySet } from './key-set.ts'
import { createCors, createListener, requireUnambiguous } from './listener.ts'
import { createRateLimits } from './rate-limit/rate-limits.ts'
import { createRedisCount, settleRegularly } from './rate-limit/settle.ts'
import { followRevocations } from './revocations.ts'
import { createRouter, routes, type Upstream } from './routes.ts'

const TIMEOUT_MS = 3_000

// A service may need a second to check its own optional dependencies.
const OPTIONAL_MS = 2_500

/** Paths that the gateway serves itself. */
const OWN_PATHS = ['/console', '/docs', '/openapi.json', '/openapi-3.0.json', '/health/live', '/health/ready']
const KNOWN = [...new Set([...routes.map(({ path }) => path), ...OWN_PATHS])]
const MAX_CHARACTERS = 64
const MAX_DISTANCE = 3
const TWO_YEARS_SECONDS = 63_072_000

/** Wires the gateway: a listener for what goes to services, an Express app for what it answers itself. */
export async function buildApp(config: GatewayConfig, log: Log): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('gateway', config)
  const calls = await createServiceCalls({ caFile: config.TLS_CA_FILE, log })
  const services = {
    identity: followInstances({ name: 'identity', urls: config.IDENTITY_URL, calls, log }),
    webhook: followInstances({ name: 'webhook', urls: config.WEBHOOK_URL, calls, log }),
    configuration: followInstances({ name: 'configuration', urls: config.CONFIGURATION_URL, calls, log }),
    dispatcher: followInstances({ name: 'dispatcher', urls: config.DISPATCHER_URL, calls, log }),
    campaigns: followInstances({ name: 'campaigns', urls: config.CAMPAIGNS_URL, calls, log }),
  }
  const signer = createInternalSigner(config.SERVICE_KEY)
  const identity = createInternalClient({
    targets: services.identity,
    audience: 'identity',
    signer,
    calls,
  })
  const keySet = createKeySet({ identity, log })
  const accessTokens = createAccessTokens({ keySet })
  const callers = createCallers({ accessTokens, identity })
  const streams = createEventStreams({ callers, registry })
  const revocations = followRevocations({ identity, rememberers: [callers, streams], log })
  const reports = createAuditReports({ send: (acts) => identity.post('/internal/audit', { acts }), log })
  const findRoute = createRouter(routes)
  const { limits, counters } = createRateLimits(config, registry)
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const settling = redis && settleRegularly(counters, createRedisCount(redis))
  const forwarded = forwarding({ timeoutMs: config.UPSTREAM_TIMEOUT_MS, calls, log })
  const observe = createObserver({ log, registry, tracing })
  const trustedProxies = config.TRUSTED_PROXIES
  const secureTransport = strictTransport(config)
  const cors = createCors({ origins: config.CORS_ORIGINS, findRoute })

  const own = createApp({
    log,
    registry,
    tracing,
    observe,
    readiness: gatewayReadiness({ services, calls, keySet, callers, redis }),
    routes: ownRoutes({ secureTransport, limits, trustedProxies, cors }),
  })
  const listener = createListener({
    findRoute,
    observe,
    log,
    secureTransport,
    cors,
    admit: gatekeeper({ services, callers, signer, limits, streams, trustedProxies, reports }),
    awaitBody: awaitBody({ timeoutMs: config.BODY_TIMEOUT_MS }),
    boundRest: (req, res) => boundRest(req, res, { timeoutMs: config.BODY_TIMEOUT_MS }),
    forward: forwarded.forward,
    own,
  })
  return {
    app: Object.assign(listener, { locals: own.locals, router: own.router }),
    registry,
    endStreams: streams.end,
    takesUploads: true,
    close: async () => {
      streams.close()
      const following = Object.values(services).map((instances) => instances.close())
      await Promise.all([revocations.close(), settling?.close(), ...following])
      redis?.disconnect()
      await forwarded.close()
      await reports.close()
      await calls.close()
      await tracing.close()
    },
  }
}

/** Routes of the gateway itself: documentation, the console, and the response that nothing is at a path. */
function ownRoutes(options: {
  secureTransport: ReturnType<typeof strictTransport>
  limits: Pick<ReturnType<typeof createRateLimits>['limits'], 'page'>
  trustedProxies: GatewayConfig['TRUSTED_PROXIES']
  cors: ReturnType<typeof createCors>
}) {
  const { secureTransport, limits, trustedProxies, cors } = options
  const admit = (req: Request) => limits.page(addressKey(clientAddress(req, trustedProxies)))
  return (express: Express): void => {
    express.use((req, res, next) => {
      secureTransport(res)
      requireUnambiguous(req)
      next()
    })
    express.use(documentation({ admit }))
    express.use(consolePages({ admit }))
    express.use((req, res, next) => {
      if (!cors(req, res, req.path)) next()
    })
    express.use((req) => {
      admit(req)
      throw new Problem('not_found', { detail: nearestPath(req.path) })
    })
  }
}

/** Makes browsers use TLS only, where it ends at the gateway, or in front of it as `PUBLIC_URL` says. */
function strictTransport({
  TLS_CERT_FILE,
  PUBLIC_URL,
}: Pick<GatewayConfig, 'TLS_CERT_FILE' | 'PUBLIC_URL'>): (res: PendingResponse) => void {
  if (TLS_CERT_FILE === undefined && PUBLIC_URL?.startsWith('https:') !== true) return () => undefined
  return (res) => void res.setHeader('strict-transport-security', `max-age=${TWO_YEARS_SECONDS}`)
}

/** Says which known path an unknown one is most like; that none is, where more than 3 letters differ. */
export function nearestPath(path: string): string {
  const distances = KNOWN.map((known) => ({ known, distance: distance(beginningOf(path, known), known) }))
  const nearest = distances.reduce((a, b) => (b.distance < a.distance ? b : a))
  if (nearest.distance > MAX_DISTANCE) return 'No path is like this one; /openapi.json lists them all.'
  return `There is no such path. Did you mean ${nearest.known}?`
}

/** As many segments as the known path has, and no more characters than are compared. */
function beginningOf(path: string, known: string): string {
  const segments = known.split('/').length
  return path.split('/', segments).join('/').toLowerCase().slice(0, MAX_CHARACTERS)
}

/**
 * The gateway is ready when it can identify callers: it has identity's keys, and identity is ready or callers are
 * cached. A service that is unavailable makes it degraded, because the others can be called through it.
 */
function gatewayReadiness(options: {
  services: Record<Upstream, Pick<Instances, 'next'>>
  calls: Pick<ServiceCalls, 'call'>
  keySet: Pick<KeySet, 'isLoaded'>
  callers: Pick<Callers, 'isWarm'>
  /** Undefined where rate limits are not settled. */
  redis: { ping(): Promise<string> } | undefined
}): Readiness {
  const { services, calls, keySet, callers, redis } = options
  const isReady = async (target: Target) => {
    const response = await calls.call(target, '/health/ready', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return response.ok
  }
  const checks = Object.entries(services).map(([name, instances]) => [name, () => isReady(instances.next())])
  return {
    required: {
      authentication: async () =>
        (await keySet.isLoaded()) && (callers.isWarm() || (await isReady(services.identity.next()))),
    },
    optionalMs: OPTIONAL_MS,
    optional: {
      ...Object.fromEntries(checks),
      ...(redis === undefined ? {} : { redis: async () => (await redis.ping()) === 'PONG' }),
    },
  }
}
