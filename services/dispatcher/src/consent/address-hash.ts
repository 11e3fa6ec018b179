import { createHmac, randomBytes } from 'node:crypto'
import { plainAddress } from '@parley/shared/phone-spelling'
import { Problem } from '@parley/shared/problem'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { Collections } from '../store/collections.ts'

const KEY_BYTES = 32
const QUERY_MS = 1_000
/** No workspace has it: the key is of all. */
const EVERYBODY = 0

/** The hash of an address in a workspace, by which nobody finds out the address without the key. Rejects with `unavailable`. */
export type HashAddress = (workspace: number, address: string) => string

/**
 * Makes the hash of addresses. Its key is made once, and stored sealed: it outlives the keys of the environment, which are
 * rotated, while what was hashed by it can't be hashed anew.
 */
export function createAddressHash(
  { suppressionKeys }: Pick<Collections, 'suppressionKeys'>,
  box: Pick<SecretBox, 'seal' | 'open' | 'isCurrent'>,
): () => Promise<HashAddress> {
  let hash: HashAddress | undefined
  const readKey = async (): Promise<Buffer> => {
    const sealed = box.seal(randomBytes(KEY_BYTES).toString('base64'), EVERYBODY)
    const found = await suppressionKeys.findOneAndUpdate(
      { _id: 'key' },
      { $setOnInsert: { sealed } },
      { upsert: true, returnDocument: 'after', maxTimeMS: QUERY_MS },
    )
    const stored = found?.sealed ?? ''
    const key = box.open(stored, EVERYBODY)
    if (typeof key !== 'string')
      throw new Problem('unavailable', {
        detail: 'SECRET_KEYS does not have the key that sealed the key of suppressions.',
      })
    if (!box.isCurrent(stored))
      await suppressionKeys.updateOne(
        { _id: 'key', sealed: stored },
        { $set: { sealed: box.seal(key, EVERYBODY) } },
      )
    return Buffer.from(key, 'base64')
  }
  return async () => {
    if (hash !== undefined) return hash
    const key = await readKey()
    hash = (workspace, address) =>
      createHmac('sha256', key)
        .update(`${workspace}/${plainAddress(address)}`)
        .digest('base64url')
    return hash
  }
}
