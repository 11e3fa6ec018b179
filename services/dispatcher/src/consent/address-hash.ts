import { createHmac, randomBytes } from 'node:crypto'
import { insertNew } from '@parley/shared/insert-new'
import { plainAddress } from '@parley/shared/phone-spelling'
import { Problem } from '@parley/shared/problem'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { Collections } from '../store/collections.ts'
import type { SuppressionKey } from '../store/suppression-records.ts'

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
  const findSealed = async () => {
    const found = await suppressionKeys.findOne({ _id: 'key' }, { maxTimeMS: QUERY_MS })
    return found?.sealed
  }
  /** Another instance may make it at the same time: the first that is stored counts. */
  const makeKey = async () => {
    const sealed = box.seal(randomBytes(KEY_BYTES).toString('base64'), EVERYBODY)
    await insertNew<SuppressionKey>(suppressionKeys, [{ _id: 'key', sealed }])
    return (await findSealed()) ?? ''
  }
  const readKey = async (): Promise<Buffer> => {
    const stored = (await findSealed()) ?? (await makeKey())
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
  const readHash = async (): Promise<HashAddress> => {
    const key = await readKey()
    return (workspace, address) =>
      createHmac('sha256', key)
        .update(`${workspace}/${plainAddress(address)}`)
        .digest('base64url')
  }
  let hash: Promise<HashAddress> | undefined
  return () => {
    if (hash === undefined) {
      hash = readHash()
      // Whoever asks next tries again.
      hash.catch(() => {
        hash = undefined
      })
    }
    return hash
  }
}
