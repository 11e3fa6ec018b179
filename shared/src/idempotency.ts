import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Log } from './log.ts'
import { Problem } from './problem.ts'

const IN_FLIGHT_MS = 10_000
const RETAINED_SECONDS = 7 * 24 * 60 * 60
const IN_FLIGHT = 'in-flight'
const CONFIRMED = 'confirmed'

/** A request that carries an idempotency key: the same workspace, key and body are the same message. */
interface KeyedRequest {
  workspace: number
  key: string
  body: Buffer
}

export interface Idempotency {
  /**
   * Runs `publish` unless this very request was confirmed before; says whether it was. The mark of a request in
   * flight lives 10 s, a confirmed key 7 days. Throws `idempotency_in_flight`, `idempotency_key_reused`. With
   * Redis unavailable it goes on without: the derived id still makes a repeat one message in the store.
   */
  once(request: KeyedRequest, publish: () => Promise<void>): Promise<{ replayed: boolean }>
}

/** Remembers idempotency keys in Redis, under names that begin with `prefix`: a service's user has those of its own only. */
export function createIdempotency(options: { redis: Redis; prefix: string; log: Log }): Idempotency {
  const { redis, prefix, log } = options
  return {
    async once(request, publish) {
      const name = `${prefix}:${request.workspace}:${createHash('sha256').update(request.key).digest('hex')}`
      const digest = createHash('sha256').update(request.body).digest('hex')
      const earlier = await withoutRedis(log, () => claim(redis, name, digest))
      if (earlier !== null && earlier !== undefined) return replayOf(earlier, digest)
      try {
        await publish()
      } catch (error) {
        await withoutRedis(log, () => redis.del(name))
        throw error
      }
      await withoutRedis(log, () => redis.set(name, `${CONFIRMED} ${digest}`, 'EX', RETAINED_SECONDS))
      return { replayed: false }
    },
  }
}

/** Marks the key as in flight and returns null, or what stood there before. */
function claim(redis: Redis, name: string, digest: string): Promise<string | null> {
  return redis.set(name, `${IN_FLIGHT} ${digest}`, 'PX', IN_FLIGHT_MS, 'NX', 'GET')
}

function replayOf(earlier: string, digest: string): { replayed: true } {
  const [state, earlierDigest] = earlier.split(' ')
  if (earlierDigest !== digest) throw new Problem('idempotency_key_reused')
  if (state === IN_FLIGHT) throw new Problem('idempotency_in_flight', { retryAfter: 1 })
  return { replayed: true }
}

/** Remembers, for 7 days, the ids of messages that were confirmed. */
export interface ConfirmedIds {
  /** Those of `ids` that were confirmed before; none with Redis unavailable. */
  among(ids: string[]): Promise<Set<string>>
  add(ids: string[]): Promise<void>
}

export function createConfirmedIds(redis: Redis, log: Log): ConfirmedIds {
  const name = (id: string) => `confirmed:${id}`
  return {
    async among(ids) {
      // One command each: in a cluster the names lie on different nodes.
      const marks = await withoutRedis(log, () => Promise.all(ids.map((id) => redis.exists(name(id)))))
      return new Set(ids.filter((_id, at) => marks?.[at] === 1))
    },
    async add(ids) {
      await withoutRedis(log, () =>
        Promise.all(ids.map((id) => redis.set(name(id), '1', 'EX', RETAINED_SECONDS))),
      )
    },
  }
}

async function withoutRedis<T>(log: Log, operation: () => Promise<T>): Promise<T | undefined> {
  try {
    return await operation()
  } catch (error) {
    log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'idempotency keys not reached')
    return undefined
  }
}
