import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@parley/shared/log'

/** The copies of one service. */
export interface Copies {
  /** The next one in turn that is ready; any when none seems to be. */
  next(): URL
  /** Leaves a copy out until it answers again. */
  suspect(copy: URL): void
  close(): Promise<void>
}

const INTERVAL_MS = 1_000
const PROBE_MS = 2_000

/**
 * Follows the copies of a service, given as URLs whose names may stand for several addresses. Where there is
 * more than one, each is asked every second whether it is ready, and one that is not is skipped.
 */
export function followCopies(options: { name: string; urls: readonly URL[]; log: Log }): Copies {
  const { name, urls, log } = options
  let copies: readonly URL[] = urls
  let away = new Set<string>()
  let turn = 0
  const look = async () => {
    copies = (await Promise.all(urls.map(resolve))).flat()
    if (copies.length === 1) return away.clear()
    const answers = await Promise.all(copies.map(isReady))
    const found = new Set(copies.filter((_copy, at) => !answers[at]).map(({ host }) => host))
    for (const host of found) if (!away.has(host)) log.warn({ service: name, host }, 'copy is away')
    for (const host of away) if (!found.has(host)) log.info({ service: name, host }, 'copy is back')
    away = found
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
      const ready = away.size === 0 ? copies : copies.filter(({ host }) => !away.has(host))
      const candidates = ready.length === 0 ? copies : ready
      turn = (turn + 1) % candidates.length
      return candidates[turn] as URL
    },
    suspect: ({ host }) => {
      if (copies.length > 1) away.add(host)
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
      const copy = new URL(url)
      copy.hostname = family === 6 ? `[${address}]` : address
      return copy
    })
  } catch {
    return [url]
  }
}

function isLiteral({ hostname }: URL): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}

async function isReady(copy: URL): Promise<boolean> {
  try {
    const response = await fetch(new URL('/health/ready', copy), { signal: AbortSignal.timeout(PROBE_MS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
