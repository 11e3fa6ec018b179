import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@parley/shared/log'

/** The instances of one service. */
export interface Instances {
  /** The next ready instance, round robin; any instance when none seems ready. */
  next(): URL
  /** Leaves a instance out until it is ready again. */
  suspect(instance: URL): void
  close(): Promise<void>
}

const INTERVAL_MS = 1_000
const PROBE_MS = 2_000
const STARTING_MS = 30_000

/**
 * Follows the instances of a service, given as URLs whose names may stand for several addresses. Where there is
 * more than one, each is asked every second whether it is ready, and one that is not is skipped.
 */
export function followInstances(options: { name: string; urls: readonly URL[]; log: Log }): Instances {
  const { name, urls, log } = options
  let instances: readonly URL[] = urls
  let unavailable = new Set<string>()
  const begun = performance.now()
  const seen = new Set<string>()
  const reported = new Set<string>()
  // What has not been there yet may be starting too.
  const isExpected = (host: string) => seen.has(host) || performance.now() - begun > STARTING_MS
  let position = 0
  const look = async () => {
    instances = (await Promise.all(urls.map(resolve))).flat()
    if (instances.length === 1) return unavailable.clear()
    const readiness = await Promise.all(instances.map(isReady))
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
      return candidates[position] as URL
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

/** A URL for each address behind a name; one over TLS keeps its name, which the certificate is for. */
async function resolve(url: URL): Promise<URL[]> {
  if (isLiteral(url) || url.protocol === 'https:') return [url]
  try {
    const addresses = await lookup(url.hostname, { all: true })
    return addresses.map(({ address, family }) => {
      const instance = new URL(url)
      instance.hostname = family === 6 ? `[${address}]` : address
      return instance
    })
  } catch {
    return [url]
  }
}

function isLiteral({ hostname }: URL): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}

async function isReady(instance: URL): Promise<boolean> {
  try {
    const response = await fetch(new URL('/health/ready', instance), {
      signal: AbortSignal.timeout(PROBE_MS),
    })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
