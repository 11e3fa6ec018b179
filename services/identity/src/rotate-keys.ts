import { ConfigError, loggingConfig, mongoConfig, parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { connectMongoForCommand } from '@parley/shared/mongo'
import type { Keyring } from '@parley/shared/sealed-value'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { identityConfig } from './config.ts'
import { generateKey, KEY_RING, seal, unseal } from './signing-keys/key-ring.ts'
import { collectionsOf } from './store/collections.ts'
import type { KeyRingDocument, StoredKey } from './store/key-ring.ts'

// The tokens of the key that drops out must have ended, and every verifier must have read the next one.
const MIN_INTERVAL_MS = 20 * 60_000

/** Why the keys were not rotated. */
class RotationRefused extends Error {}

/**
 * The command that rotates the signing keys, run in the environment of the identity service:
 * `node services/identity/src/rotate-keys.ts [--force]`.
 */
async function main(): Promise<void> {
  const { KEY_ENCRYPTION_KEYS } = identityConfig
  const schema = z.object({ ...loggingConfig, ...mongoConfig('identity'), KEY_ENCRYPTION_KEYS })
  const config = parseConfig(schema, process.env)
  const log = createLog({ service: 'rotate-keys', level: config.LOG_LEVEL })
  const mongo = await connectMongoForCommand({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    log,
  })
  try {
    const force = process.argv.includes('--force')
    const rings = collectionsOf(mongo.connection).keyRings
    const { current, next } = await rotateKeys({ rings, keys: config.KEY_ENCRYPTION_KEYS, force })
    console.log(`${current.kid} signs now; ${next.kid} is published for the next time.`)
  } finally {
    await mongo.close()
  }
}

try {
  await main()
} catch (error) {
  if (!(error instanceof RotationRefused || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

/**
 * Moves every key on by one: the next one signs, the current one is still published, and a new one is
 * published ahead. All are encrypted anew under the current encryption key, so that an older one can be
 * taken out of the environment. Throws {@link RotationRefused} within 20 minutes of the last rotation, or
 * when another process rotates at the same moment; with `force` only the latter.
 */
async function rotateKeys(options: {
  rings: mongo.Collection<KeyRingDocument>
  keys: Keyring
  force: boolean
}): Promise<KeyRingDocument> {
  const { rings, keys, force } = options
  const ring = await rings.findOne({ _id: KEY_RING })
  if (ring === null)
    throw new RotationRefused('There are no keys yet; the service makes them when it starts.')
  const waitMs = (ring.rotatedAt?.getTime() ?? 0) + MIN_INTERVAL_MS - Date.now()
  if (waitMs > 0 && !force)
    throw new RotationRefused(`The last rotation is too recent; wait ${Math.ceil(waitMs / 60_000)} minutes.`)
  const rotated = {
    version: ring.version + 1,
    rotatedAt: new Date(),
    previous: resealed(keys, ring.current),
    current: resealed(keys, ring.next),
    next: generateKey(keys),
  }
  const { matchedCount } = await rings.updateOne({ _id: KEY_RING, version: ring.version }, { $set: rotated })
  if (matchedCount === 0) throw new RotationRefused('Another process has just rotated the keys.')
  return { _id: KEY_RING, ...rotated }
}

function resealed(keys: Keyring, key: StoredKey): StoredKey {
  return { ...key, privateJwk: seal(keys, unseal(keys, key.privateJwk, key.kid), key.kid) }
}
