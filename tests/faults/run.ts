import { join } from 'node:path'
import { STATE_DIRECTORY } from '@parley/local/checkout'
import { findRunningSystem } from '@parley/local/demo/running-system'
import { SetupError } from '@parley/local/setup-error'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { killEach } from './kill-each.ts'
import { faultReport } from './report.ts'

const size = z.object({
  RATE: integer({ min: 1, max: 70 }).default(50).describe('Messages posted a second'),
  THREADS: integer({ min: 1, max: 1_000 }).default(100).describe('Over how many threads'),
})
const VICTIMS = [
  'webhook',
  'configuration',
  'identity',
  'dispatcher',
  'gateway',
  'rabbitmq',
  'redis',
  'mongodb',
]

try {
  const { RATE, THREADS } = parseConfig(size, process.env)
  const system = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
  console.log(
    `Posting ${RATE} messages/s over ${THREADS} threads and killing ${VICTIMS.join(', ')}, one after the other`,
  )
  const result = await killEach({
    system,
    runFile: join(STATE_DIRECTORY, 'run.json'),
    victims: VICTIMS,
    rate: RATE,
    threads: THREADS,
    say: console.log,
  })
  console.log(faultReport(result))
  process.exitCode = result.survived ? 0 : 1
} catch (error) {
  if (!(error instanceof SetupError || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
