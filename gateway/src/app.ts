import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import { createApp, type Service } from '@parley/shared/service-app'
import { createAccessTokens } from './access-tokens.ts'
import { createCallers } from './callers.ts'
import { canonicalPath } from './canonical-path.ts'
import type { GatewayConfig } from './config.ts'
import { forwarding } from './forward.ts'
import { gatekeeper } from './gatekeeper.ts'
import { createKeySet } from './key-set.ts'
import { createRateLimits } from './rate-limit/rate-limits.ts'
import { createRedisCount } from './rate-limit/redis-count.ts'
import { settleRegularly } from './rate-limit/settle.ts'
import { upstreamReadiness } from './readiness.ts'
import { followRevocations } from './revocations.ts'
import { createRouter, routes } from './routes.ts'

/** Wires the gateway: path, route, caller, then on to the service. Nothing here reads a body. */
export async function buildApp(config: GatewayConfig, log: Log): Promise<Service> {
  const targets = {
    identity: config.IDENTITY_URL,
    webhook: config.WEBHOOK_URL,
    configuration: config.CONFIGURATION_URL,
    dispatcher: config.DISPATCHER_URL,
  }
  const signer = createInternalSigner(config.SERVICE_KEY)
  const identity = createInternalClient({ baseUrl: targets.identity.href, audience: 'identity', signer })
  const accessTokens = createAccessTokens({ keySet: createKeySet({ identity, log }) })
  const callers = createCallers({ accessTokens, identity, signer })
  const revocations = followRevocations({ identity, callers, log })
  const { limits, counters } = createRateLimits(config)
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const settling = redis && settleRegularly(counters, createRedisCount(redis))
  const forward = forwarding({ timeoutMs: config.UPSTREAM_TIMEOUT_MS, log })

  const app = createApp({
    log,
    readiness: upstreamReadiness(targets),
    routes: (express) => {
      express.use(canonicalPath())
      const trustedProxies = config.TRUSTED_PROXIES
      express.use(gatekeeper({ findRoute: createRouter(routes), targets, callers, limits, trustedProxies }))
      express.use(forward.middleware)
    },
  })
  return {
    app,
    close: async () => {
      await Promise.all([revocations.close(), settling?.close()])
      redis?.disconnect()
      forward.close()
    },
  }
}
