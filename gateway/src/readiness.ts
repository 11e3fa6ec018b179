import type { ReadinessChecks } from '@parley/shared/service-app'
import type { Copies } from './copies.ts'
import type { Upstream } from './routes.ts'

const TIMEOUT_MS = 3_000

/** The gateway is ready when every service says so of itself. */
export function upstreamReadiness(services: Record<Upstream, Copies>): ReadinessChecks {
  const checks = Object.entries(services).map(([name, copies]) => [name, () => isReady(copies.next())])
  return Object.fromEntries(checks) as ReadinessChecks
}

async function isReady(target: URL): Promise<boolean> {
  const response = await fetch(new URL('/health/ready', target), { signal: AbortSignal.timeout(TIMEOUT_MS) })
  await response.body?.cancel()
  return response.ok
}
