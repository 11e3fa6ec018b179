import { ConfigError, loggingConfig, mongoConfig, parseConfig } from '@parley/shared/config'
import { pause } from '@parley/shared/every'
import { createLog } from '@parley/shared/log'
import { connectMongoForCommand } from '@parley/shared/mongo'
import { z } from 'zod'
import { partitionsConfig } from './config.ts'
import { ChangeRefused, isSettled, requestChange } from './layout/change-layout.ts'
import { collectionsOf } from './store/collections.ts'
import { readLayout } from './store/layout-record.ts'

const LOOK_AGAIN_MS = 250

/**
 * The command that changes the number of partitions of a live system, run in the environment of a dispatcher:
 * `node services/dispatcher/src/change-partitions.ts NUMBER`. The dispatchers carry the change out; the command requests
 * it, and says how it goes. Ended in the middle it stops nothing; run again it goes on watching.
 */
async function main(): Promise<void> {
  const schema = z.object({ ...loggingConfig, ...mongoConfig('dispatcher') })
  const config = parseConfig(schema, process.env)
  const asked = z.object({ PARTITIONS: partitionsConfig })
  const { PARTITIONS: partitions } = parseConfig(asked, { PARTITIONS: process.argv[2] ?? '' })
  const log = createLog({ service: 'change-partitions', level: config.LOG_LEVEL })
  const mongo = await connectMongoForCommand({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    log,
  })
  try {
    const { layouts } = collectionsOf(mongo.connection)
    const before = await requestChange({ layouts }, partitions)
    if (before.partitions === partitions) return console.log(`There are ${partitions} partitions already.`)
    console.log(`From ${before.partitions} partitions to ${partitions}: the dispatchers change it.`)
    let phase: string | undefined
    for (;;) {
      // The change outlives that the database is unavailable, and so does watching it.
      const layout = await readLayout(layouts).catch(() => undefined)
      if (layout !== undefined && isSettled(layout))
        return console.log(`There are ${layout.partitions} partitions now.`)
      const next =
        layout === undefined
          ? 'the database is unavailable'
          : (layout.change?.phase ?? 'deleting the queues of before')
      if (next !== phase) console.log(next)
      phase = next
      await pause(LOOK_AGAIN_MS)
    }
  } finally {
    await mongo.close()
  }
}

try {
  await main()
} catch (error) {
  if (!(error instanceof ChangeRefused || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
