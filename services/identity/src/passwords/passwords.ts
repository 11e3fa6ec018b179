import { createHmac } from 'node:crypto'
import type { Keyring } from '@parley/shared/keyring'
import bcrypt from 'bcryptjs'
import type { HashPool } from './hash-pool.ts'

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
