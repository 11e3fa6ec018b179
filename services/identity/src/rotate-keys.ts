import { ConfigError, loggingConfig, mongoConfig, parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { connectMongoForCommand } from '@parley/shared/mongo-for-command'
import { z } from 'zod'
import { identityConfig } from './config.ts'
import { RotationRefused, rotateKeys } from './signing-keys/rotate.ts'
import { collectionsOf } from './store/collections.ts'

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
