import type { ReadinessChecks } from '@parley/shared/service-app'
import type { Upstream } from './routes.ts'

const TIMEOUT_MS = 3_000

/** The gateway is ready when every service says so of itself. */
export function upstreamReadiness(targets: Record<Upstream, URL>): ReadinessChecks {
  const checks = Object.entries(targets).map(([name, target]) => [name, () => isReady(target)])
  return Object.fromEntries(checks) as ReadinessChecks
}

async function isReady(target: URL): Promise<boolean> {
  const response = await fetch(new URL('/health/ready', target), { signal: AbortSignal.timeout(TIMEOUT_MS) })
  await response.body?.cancel()
  return response.ok
}
