import { join } from 'node:path'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import cliProgress from 'cli-progress'
import { z } from 'zod'
import { STATE_DIRECTORY } from './checkout.ts'
import { reportOf } from './demo/report.ts'
import { type DemoResult, runDemo } from './demo/run-demo.ts'
import { findRunningSystem } from './demo/running-system.ts'
import { SetupError } from './setup-error.ts'

const size = z.object({
  MESSAGES: integer({ min: 1, max: 200_000 }).default(1_000).describe('How many messages are sent'),
  THREADS: integer({ min: 1, max: 10_000 }).default(100).describe('Over how many threads'),
})

try {
  const result = await demo()
  console.log(reportOf(result))
  process.exitCode = result.reconciled ? 0 : 1
} catch (error) {
  if (!(error instanceof SetupError || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

async function demo(): Promise<DemoResult> {
  const { MESSAGES, THREADS } = parseConfig(size, process.env)
  const runFile = join(STATE_DIRECTORY, 'run.json')
  const system = await findRunningSystem(runFile)
  console.log(`Sending ${MESSAGES} messages over ${THREADS} threads through ${system.gatewayUrl}`)
  console.log('5% of the sends fail, 2% of the responses get lost, and half-way a dispatcher is killed')
  const bars = new cliProgress.MultiBar({
    format: '{what} [{bar}] {percentage}% {value}/{total} in {duration_formatted}',
    stream: process.stdout,
    noTTYOutput: true,
    notTTYSchedule: 2_000,
  })
  const accepted = bars.create(MESSAGES, 0, { what: 'answered 200    ' })
  const arrived = bars.create(MESSAGES, 0, { what: 'at the simulator' })
  const progress = {
    accepted: () => accepted.increment(),
    arrived: (different: number) => arrived.update(different),
    killing: (victim: string) => bars.log(`Killing ${victim} (SIGKILL)\n`),
  }
  try {
    return await runDemo({ system, runFile, messages: MESSAGES, threads: THREADS, progress })
  } finally {
    bars.stop()
  }
}
