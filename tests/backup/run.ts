// Backs MongoDB up while messages are posted, destroys it, restores it, and counts what is lost and what comes again.
//   npm run backup:drill
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { runDrill } from './drill.ts'
import { drillTable } from './report.ts'

const { MESSAGES } = parseConfig(
  z.object({
    MESSAGES: integer({ min: 50, max: 20_000 })
      .default(300)
      .describe('Messages before the backup, after it, and while MongoDB is gone'),
  }),
  process.env,
)

const drill = await runDrill({ messages: MESSAGES, say: (line) => console.error(line) })
console.log(drillTable(drill))
if (!drill.passed) process.exitCode = 1
