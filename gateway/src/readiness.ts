import type { Readiness } from '@parley/shared/service-app'
import type { ServiceCalls, Target } from '@parley/shared/service-calls'
import type { Callers } from './callers.ts'
import type { Instances } from './instances.ts'
import type { KeySet } from './key-set.ts'
import type { Upstream } from './routes.ts'

const TIMEOUT_MS = 3_000
// A service may need a second to check its own optional dependencies.
const OPTIONAL_MS = 2_500

/**
 * The gateway is ready when it can identify callers: it has identity's keys, and identity is ready or callers are
 * cached. A service that is unavailable makes it degraded, because the others can be called through it.
 */
export function gatewayReadiness(options: {
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
