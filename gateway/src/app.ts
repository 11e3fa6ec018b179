import { addressKey } from '@parley/shared/address-key'
import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import { createApp, type Service } from '@parley/shared/service-app'
import { createTracing } from '@parley/shared/tracing'
import type { Request } from 'express'
import { Registry } from 'prom-client'
import { createAccessTokens } from './access-tokens.ts'
import { strictTransport } from './answer-headers.ts'
import { awaitBody } from './bodies/await-body.ts'
import { createCallers } from './callers.ts'
import { canonicalPath } from './canonical-path.ts'
import { clientAddress } from './client-address.ts'
import type { GatewayConfig } from './config.ts'
import { followCopies } from './copies.ts'
import { cors } from './cors.ts'
import { documentation } from './documentation/documentation.ts'
import { forwarding } from './forward.ts'
import { gatekeeper } from './gatekeeper.ts'
import { createKeySet } from './key-set.ts'
import { createRateLimits } from './rate-limit/rate-limits.ts'
import { createRedisCount } from './rate-limit/redis-count.ts'
import { settleRegularly } from './rate-limit/settle.ts'
import { gatewayReadiness } from './readiness.ts'
import { unambiguousHeaders } from './request-headers.ts'
import { followRevocations } from './revocations.ts'
import { createRouter, routes } from './routes.ts'

/** Wires the gateway: path, route, caller, then on to the service. Nothing here reads a body. */
export async function buildApp(config: GatewayConfig, log: Log): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('gateway', config)
  const services = {
    identity: followCopies({ name: 'identity', urls: config.IDENTITY_URL, log }),
    webhook: followCopies({ name: 'webhook', urls: config.WEBHOOK_URL, log }),
    configuration: followCopies({ name: 'configuration', urls: config.CONFIGURATION_URL, log }),
    dispatcher: followCopies({ name: 'dispatcher', urls: config.DISPATCHER_URL, log }),
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
      const following = Object.values(services).map((copies) => copies.close())
      await Promise.all([revocations.close(), settling?.close(), ...following])
      redis?.disconnect()
      forward.close()
      await tracing.close()
    },
  }
}
