import { createHmac } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { FairSlots, type SlotKey, type SlotLimits } from '@parley/shared/fair-slots'
import { Problem } from '@parley/shared/problem'
import type { Keyring } from '@parley/shared/sealed-value'
import bcrypt from 'bcryptjs'
import { Piscina } from 'piscina'
import type { HashTask } from './hash-worker.ts'

/** A password as it is stored. */
export interface StoredPassword {
  passwordHash: string
  salt: string
  pepper: string
}

/** Hashing takes its time, and those who ask take turns: `by` is the workspace or address that does. */
export interface Passwords {
  /** Throws `rate_limited` and `unavailable` when too many passwords wait to be hashed, or after 20 s. */
  hash(password: string, by: SlotKey): Promise<StoredPassword>
  /** True if the password is right. Without `stored` it does the same work, and is false. Throws as `hash`. */
  verify(password: string, stored: StoredPassword | undefined, by: SlotKey): Promise<boolean>
  /** True if a password is to be hashed anew, because pepper or cost have changed since. */
  isOutdated(stored: StoredPassword): boolean
}

const MAX_WORKERS = 4
/** One core is left free for the event loop where there are two or more. */
const THREADS = Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1))
/** 256 are about 15 s of work at the usual cost on one worker; 20 s are below the time after which the gateway gives up. */
const LIMITS: SlotLimits = {
  ...{ of: 'passwords', total: THREADS },
  queue: { total: 256, each: 256, ms: 20_000 },
}

/**
 * Hashes with bcrypt over the base64 of HMAC-SHA-256(pepper, password): without the pepper a hash can't be
 * attacked, and all of a long password counts, where bcrypt alone stops after 72 bytes.
 */
export function createPasswords(options: {
  peppers: Keyring
  cost: number
  pool: Pick<HashPool, 'hash' | 'compare'>
}): Passwords {
  const { peppers, cost, pool } = options
  const { current } = peppers
  const nobody = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
  return {
    hash: async (password, by) => {
      const passwordHash = await pool.hash(peppered(password, current.secret), cost, by)
      return { passwordHash, salt: bcrypt.getSalt(passwordHash), pepper: current.id }
    },
    verify: async (password, stored, by) => {
      const secret = stored === undefined ? current.secret : peppers.secret(stored.pepper)
      if (secret === undefined) throw new Error(`the pepper ${stored?.pepper} is not in the environment`)
      const input = peppered(password, secret)
      const matches = await pool.compare(input, stored?.passwordHash ?? nobody, by)
      return matches && stored !== undefined
    },
    isOutdated: ({ pepper, passwordHash }) =>
      pepper !== current.id || bcrypt.getRounds(passwordHash) !== cost,
  }
}

function peppered(password: string, pepper: Buffer): string {
  return createHmac('sha256', pepper).update(password).digest('base64')
}

/** Runs bcrypt in worker threads, for whoever asks in turns. Throws `rate_limited` and `unavailable` as {@link FairSlots}. */
export class HashPool {
  readonly #slots = new FairSlots(LIMITS)
  readonly #pool: Piscina<HashTask, string | boolean>
  #isClosed = false

  constructor() {
    this.#pool = new Piscina({
      filename: new URL('./hash-worker.ts', import.meta.url).href,
      minThreads: THREADS,
      maxThreads: THREADS,
    })
    // An idle worker that ends is replaced; a task whose worker ends is rejected.
    this.#pool.on('error', () => {})
  }

  /** How many wait for a worker. */
  get waiting(): number {
    return this.#slots.waiting
  }

  /** The bcrypt hash of `input`. */
  async hash(input: string, cost: number, by: SlotKey): Promise<string> {
    return String(await this.#run({ input, cost }, by))
  }

  /** Resolves to true if `input` has that hash. */
  async compare(input: string, hash: string, by: SlotKey): Promise<boolean> {
    return (await this.#run({ input, hash }, by)) === true
  }

  /** Ends the workers; what they were at, and what waits, is rejected. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#pool.destroy()
  }

  async #run(task: HashTask, by: SlotKey): Promise<string | boolean> {
    const release = await this.#slots.enter(by)
    try {
      if (this.#isClosed) throw new Problem('unavailable')
      return await this.#pool.run(task)
    } finally {
      release()
    }
  }
}
