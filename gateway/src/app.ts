import { addressKey } from '@parley/shared/addresses'
import { createTracing } from '@parley/shared/create-tracing'
import type { PendingResponse } from '@parley/shared/exchange'
import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { createObserver } from '@parley/shared/observe-requests'
import { Problem } from '@parley/shared/problem'
import { connectRedis } from '@parley/shared/redis'
import { createApp, type Service } from '@parley/shared/service-app'
import { createServiceCalls } from '@parley/shared/service-calls'
import type { Request } from 'express'
import { Registry } from 'prom-client'
import { createAccessTokens } from './access-tokens.ts'
import { awaitBody } from './await-body.ts'
import { createCallers } from './callers.ts'
import { clientAddress } from './client-address.ts'
import type { GatewayConfig } from './config.ts'
import { consolePages } from './console.ts'
import { createCors } from './cors.ts'
import { documentation } from './documentation.ts'
import { createEventStreams } from './event-streams.ts'
import { forwarding } from './forward.ts'
import { gatekeeper } from './gatekeeper.ts'
import { followInstances } from './instances.ts'
import { createKeySet } from './key-set.ts'
import { createListener, requireUnambiguous } from './listener.ts'
import { nearestPath } from './nearest-path.ts'
import { createRateLimits } from './rate-limit/rate-limits.ts'
import { createRedisCount, settleRegularly } from './rate-limit/settle.ts'
import { gatewayReadiness } from './readiness.ts'
import { followRevocations } from './revocations.ts'
import { createRouter, routes } from './routes.ts'

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
    routes: (express) => {
      express.use((req, res, next) => {
        secureTransport(res)
        requireUnambiguous(req)
        next()
      })
      const admit = (req: Request) => limits.page(addressKey(clientAddress(req, trustedProxies)))
      express.use(documentation({ admit }))
      express.use(consolePages({ admit }))
      express.use((req, res, next) => {
        if (!cors(req, res, req.path)) next()
      })
      express.use((req) => {
        admit(req)
        throw new Problem('not_found', { detail: nearestPath(req.path) })
      })
    },
  })
  const listener = createListener({
    findRoute,
    observe,
    log,
    secureTransport,
    cors,
    admit: gatekeeper({ services, callers, signer, limits, streams, trustedProxies }),
    awaitBody: awaitBody({ timeoutMs: config.BODY_TIMEOUT_MS }),
    forward: forwarded.forward,
    own,
  })
  return {
    app: Object.assign(listener, { locals: own.locals, router: own.router }),
    registry,
    endStreams: streams.end,
    close: async () => {
      streams.close()
      const following = Object.values(services).map((instances) => instances.close())
      await Promise.all([revocations.close(), settling?.close(), ...following])
      redis?.disconnect()
      await forwarded.close()
      await calls.close()
      await tracing.close()
    },
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
