import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@parley/shared/log'
import type { ServiceCalls, Target } from '@parley/shared/service-calls'

/** The instances of one service. */
export interface Instances {
  /** The next ready instance, round robin; any instance when none seems ready. */
  next(): Target
  /** Leaves a instance out until it is ready again. */
  suspect(instance: Target): void
  close(): Promise<void>
}

const INTERVAL_MS = 1_000
const PROBE_MS = 2_000
const STARTING_MS = 30_000

/**
 * Follows the instances of a service, given as URLs whose names may stand for several addresses. Where there is
 * more than one, each is asked every second whether it is ready, and one that is not is skipped.
 */
export function followInstances(options: {
  name: string
  urls: readonly URL[]
  calls: Pick<ServiceCalls, 'call'>
  log: Log
}): Instances {
  const { name, urls, calls, log } = options
  let instances: readonly Target[] = urls
  let unavailable = new Set<string>()
  const begun = performance.now()
  const seen = new Set<string>()
  const reported = new Set<string>()
  // An instance that has not been there yet may be starting too.
  const isExpected = (host: string) => seen.has(host) || performance.now() - begun > STARTING_MS
  let position = 0
  const look = async () => {
    instances = (await Promise.all(urls.map(resolve))).flat()
    if (instances.length === 1) return unavailable.clear()
    const readiness = await Promise.all(instances.map((instance) => isReady(calls, instance)))
    const found = new Set(instances.filter((_instance, at) => !readiness[at]).map(({ host }) => host))
    for (const { host } of instances) if (!found.has(host)) seen.add(host)
    for (const host of found)
      if (!reported.has(host) && isExpected(host)) {
        log.warn({ service: name, host }, 'instance unavailable: requests go to the others')
        reported.add(host)
      }
    for (const host of [...reported])
      if (!found.has(host)) {
        log.info({ service: name, host }, 'instance available again')
        reported.delete(host)
      }
    unavailable = found
  }
  const closing = new AbortController()
  const loop = async () => {
    while (!closing.signal.aborted) {
      await look()
      await delay(INTERVAL_MS, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }
  // A single address can neither be skipped nor change.
  const fixed = urls.length === 1 && urls[0] !== undefined && isLiteral(urls[0])
  const running = fixed ? Promise.resolve() : loop()
  return {
    next: () => {
      const ready =
        unavailable.size === 0 ? instances : instances.filter(({ host }) => !unavailable.has(host))
      const candidates = ready.length === 0 ? instances : ready
      position = (position + 1) % candidates.length
      return candidates[position] as Target
    },
    suspect: ({ host }) => {
      if (instances.length > 1) unavailable.add(host)
    },
    close: async () => {
      closing.abort()
      await running
    },
  }
}

/** An instance for each address behind a name; over TLS each remembers the name, which its certificate is for. */
async function resolve(url: URL): Promise<Target[]> {
  if (isLiteral(url)) return [url]
  try {
    const addresses = await lookup(url.hostname, { all: true })
    return addresses.map(({ address, family }) => {
      const instance = new URL(url)
      instance.hostname = family === 6 ? `[${address}]` : address
      const { origin, host } = instance
      return url.protocol === 'https:' ? { origin, host, servername: url.hostname } : { origin, host }
    })
  } catch {
    return [url]
  }
}

function isLiteral({ hostname }: URL): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}

async function isReady(calls: Pick<ServiceCalls, 'call'>, instance: Target): Promise<boolean> {
  try {
    const response = await calls.call(instance, '/health/ready', { signal: AbortSignal.timeout(PROBE_MS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
