import { createPublicKey, type KeyObject } from 'node:crypto'
import { publicJwk } from '@parley/shared/config'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import { z } from 'zod'

export interface KeySet {
  /** The key of that id, if identity publishes it. Throws `unavailable` when it can't be asked. */
  key(kid: string): Promise<KeyObject | undefined>
  /** Resolves to true when there are keys; asks identity where there are none yet. */
  isLoaded(): Promise<boolean>
}

const REFRESH_MS = 300_000
// Tokens with invented key ids must not turn into a stream of requests.
const MIN_INTERVAL_MS = 1_000
const MAX_KEYS = 16

const jwks = z.object({ keys: z.array(publicJwk).max(MAX_KEYS) })

/** Identity's public keys: read again when an unknown id comes up, at most once a second, and every 5 minutes. */
export function createKeySet({ identity, log }: { identity: Pick<InternalClient, 'get'>; log: Log }): KeySet {
  let keys = new Map<string, KeyObject>()
  let fetchedAt = Number.NEGATIVE_INFINITY
  const once = createSingleFlight<void>()
  const fetchKeys = () =>
    once('jwks', async () => {
      const published = jwks.safeParse(await identity.get('/.well-known/jwks.json'))
      if (!published.success) throw new Problem('unavailable', { cause: published.error })
      keys = new Map(
        published.data.keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]),
      )
      fetchedAt = performance.now()
    })
  const age = () => performance.now() - fetchedAt
  return {
    key: async (kid) => {
      if (!keys.has(kid) && age() > MIN_INTERVAL_MS) await fetchKeys()
      else if (age() > REFRESH_MS)
        fetchKeys().catch((err: unknown) =>
          log.warn({ err }, 'keys not refreshed from identity: the last ones stay in use'),
        )
      return keys.get(kid)
    },
    isLoaded: async () => {
      if (keys.size === 0) await fetchKeys()
      return keys.size > 0
    },
  }
}

/** Shares one run of `work` between all who ask for the same key at the same time. */
export function createSingleFlight<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const flying = new Map<string, Promise<T>>()
  return (key, work) => {
    const known = flying.get(key)
    if (known !== undefined) return known
    const flight = work().finally(() => flying.delete(key))
    flying.set(key, flight)
    return flight
  }
}
