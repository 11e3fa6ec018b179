import { addressKey } from '@parley/shared/addresses'
import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import { createApp, type Service } from '@parley/shared/service-app'
import { createTracing } from '@parley/shared/tracing'
import type { Request, RequestHandler } from 'express'
import { Registry } from 'prom-client'
import { createAccessTokens } from './access-tokens.ts'
import { awaitBody } from './await-body.ts'
import { createCallers } from './callers.ts'
import { canonicalPath } from './canonical-path.ts'
import { clientAddress } from './client-address.ts'
import type { GatewayConfig } from './config.ts'
import { consolePages } from './console.ts'
import { cors } from './cors.ts'
import { documentation } from './documentation.ts'
import { forwarding } from './forward.ts'
import { gatekeeper } from './gatekeeper.ts'
import { followInstances } from './instances.ts'
import { createKeySet } from './key-set.ts'
import { createRateLimits } from './rate-limit/rate-limits.ts'
import { createRedisCount, settleRegularly } from './rate-limit/settle.ts'
import { gatewayReadiness } from './readiness.ts'
import { unambiguousHeaders } from './request-headers.ts'
import { followRevocations } from './revocations.ts'
import { createRouter, routes } from './routes.ts'

const TWO_YEARS_SECONDS = 63_072_000

/** Wires the gateway: path, route, caller, then on to the service. Nothing here reads a body. */
export async function buildApp(config: GatewayConfig, log: Log): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('gateway', config)
  const services = {
    identity: followInstances({ name: 'identity', urls: config.IDENTITY_URL, log }),
    webhook: followInstances({ name: 'webhook', urls: config.WEBHOOK_URL, log }),
    configuration: followInstances({ name: 'configuration', urls: config.CONFIGURATION_URL, log }),
    dispatcher: followInstances({ name: 'dispatcher', urls: config.DISPATCHER_URL, log }),
  }
  const signer = createInternalSigner(config.SERVICE_KEY)
  const identity = createInternalClient({
    targets: services.identity,
    audience: 'identity',
    signer,
  })
  const keySet = createKeySet({ identity, log })
  const accessTokens = createAccessTokens({ keySet })
  const callers = createCallers({ accessTokens, identity })
  const revocations = followRevocations({ identity, callers, log })
  const findRoute = createRouter(routes)
  const { limits, counters } = createRateLimits(config, registry)
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const settling = redis && settleRegularly(counters, createRedisCount(redis))
  const forward = forwarding({ timeoutMs: config.UPSTREAM_TIMEOUT_MS, log })

  const app = createApp({
    log,
    registry,
    tracing,
    readiness: gatewayReadiness({ services, keySet, callers, redis }),
    routes: (express) => {
      express.use(strictTransport(config.PUBLIC_URL), unambiguousHeaders(), canonicalPath())
      const trustedProxies = config.TRUSTED_PROXIES
      const origins = config.CORS_ORIGINS
      const admit = (req: Request) => limits.page(addressKey(clientAddress(req, trustedProxies)))
      express.use(documentation({ admit }))
      express.use(consolePages({ admit }))
      if (origins.length > 0) express.use(cors({ origins, findRoute }))
      express.use(gatekeeper({ findRoute, services, callers, signer, limits, trustedProxies }))
      express.use(awaitBody({ timeoutMs: config.BODY_TIMEOUT_MS }))
      express.use(forward.middleware)
    },
  })
  return {
    app,
    registry,
    close: async () => {
      const following = Object.values(services).map((instances) => instances.close())
      await Promise.all([revocations.close(), settling?.close(), ...following])
      redis?.disconnect()
      forward.close()
      await tracing.close()
    },
  }
}

/** Makes browsers use TLS only, where `publicUrl` says that TLS ends in front of the gateway. */
function strictTransport(publicUrl: string | undefined): RequestHandler {
  const isSecure = publicUrl?.startsWith('https:') === true
  return (_req, res, next) => {
    if (isSecure) res.setHeader('strict-transport-security', `max-age=${TWO_YEARS_SECONDS}`)
    next()
  }
}
