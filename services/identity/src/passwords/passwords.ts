import { createHmac } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Keyring } from '@parley/shared/keyring'
import { Problem } from '@parley/shared/problem'
import bcrypt from 'bcryptjs'
import { Piscina } from 'piscina'
import type { HashTask } from './hash-worker.ts'

/** A password as it is stored. */
export interface StoredPassword {
  passwordHash: string
  salt: string
  pepper: string
}

export interface Passwords {
  /** Throws `unavailable` when too many passwords wait to be hashed. */
  hash(password: string): Promise<StoredPassword>
  /** Whether the password is right. Without `stored` the same work is done, and the answer is no. */
  verify(password: string, stored: StoredPassword | undefined): Promise<boolean>
  /** Whether a password is to be hashed anew, because pepper or cost have changed since. */
  isOutdated(stored: StoredPassword): boolean
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
    hash: async (password) => {
      const passwordHash = await pool.hash(peppered(password, current.secret), cost)
      return { passwordHash, salt: bcrypt.getSalt(passwordHash), pepper: current.id }
    },
    verify: async (password, stored) => {
      const secret = stored === undefined ? current.secret : peppers.secret(stored.pepper)
      if (secret === undefined) throw new Error(`the pepper ${stored?.pepper} is not in the environment`)
      const matches = await pool.compare(peppered(password, secret), stored?.passwordHash ?? nobody)
      return matches && stored !== undefined
    },
    isOutdated: ({ pepper, passwordHash }) =>
      pepper !== current.id || bcrypt.getRounds(passwordHash) !== cost,
  }
}

function peppered(password: string, pepper: Buffer): string {
  return createHmac('sha256', pepper).update(password).digest('base64')
}

const MAX_WORKERS = 4
// About 15 s of work at the usual cost on one worker.
const MAX_WAITING = 256
// Below the time after which the gateway gives up.
const MAX_WAIT_MS = 20_000
const NANOSECONDS = 1_000_000n

/** Runs bcrypt in worker threads, with one core left free for the event loop where there are two or more. */
export class HashPool {
  readonly #pool: Piscina<HashTask, string | boolean | undefined>

  constructor() {
    const threads = Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1))
    this.#pool = new Piscina({
      filename: new URL('./hash-worker.ts', import.meta.url).href,
      minThreads: threads,
      maxThreads: threads,
    })
    // An idle worker that ends is replaced; a task whose worker ends is rejected.
    this.#pool.on('error', () => {})
  }

  /** How many wait for a worker. */
  get waiting(): number {
    return this.#pool.queueSize
  }

  /** The bcrypt hash of `input`. Throws `unavailable` when 256 wait, or after 20 s. */
  async hash(input: string, cost: number): Promise<string> {
    return String(await this.#run({ input, cost }))
  }

  /** Whether `input` has that hash. Throws `unavailable` when 256 wait, or after 20 s. */
  async compare(input: string, hash: string): Promise<boolean> {
    return (await this.#run({ input, hash })) === true
  }

  /** Ends the workers; what they were at, and what waits, is rejected. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #run(work: { input: string } & ({ cost: number } | { hash: string })): Promise<string | boolean> {
    if (this.waiting >= MAX_WAITING) throw overloaded()
    // A signal would also end a worker that has just begun, so the worker looks at the time itself.
    const startBy = process.hrtime.bigint() + BigInt(MAX_WAIT_MS) * NANOSECONDS
    const result = await this.#pool.run({ ...work, startBy })
    if (result === undefined) throw overloaded()
    return result
  }
}

function overloaded(): Problem {
  return new Problem('unavailable', { detail: 'Too many passwords are being checked.' })
}
