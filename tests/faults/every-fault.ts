// One fault at a time under a steady load, then random ones, and after each the count of what arrived; see run.ts.
import { randomInt } from 'node:crypto'
import { uncounted } from '@parley/local/demo/reconciliation'
import { readTroubles } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { createSimulatorLog, startRpcSink } from '../dispatch/received-messages.ts'
import { allFaults, installFaketime, NO_FAULT } from './catalogue.ts'
import { budgetOf, faultSequence } from './choose-faults.ts'
import { layoutConfig, startFaultSystem } from './fault-system.ts'
import { head, row, summary } from './report.ts'
import { leaks, readHoldings } from './resources.ts'
import { type Round, runRound } from './round.ts'

const REST_MS = 90_000
const REST_CHECK_MS = 1_000
const MAX_SEED = 2 ** 31

const { RATE, READS, SEED, FAULTS_BUDGET, LOG, TOGETHER } = readSettings()
const seed = SEED ?? randomInt(MAX_SEED)
const say = (line: string) => console.error(line)

function readSettings() {
  const { FAULTS: budgetText, ...others } = parseConfig(
    z.object({
      RATE: integer({ min: 10, max: 500 }).default(40).describe('Messages posted a second'),
      READS: integer({ min: 1, max: 500 }).default(10).describe('Reads a second'),
      SEED: integer({ min: 0, max: MAX_SEED }).optional().describe('Chooses the random faults'),
      FAULTS: z
        .string()
        .regex(/^\d{1,5}[smh]?$/)
        .default('6')
        .describe('Random faults after one of each: how many, or for how long (30m)'),
      LOG: z.string().optional().describe('A file for what the processes log at level warn'),
      ...layoutConfig,
    }),
    process.env,
  )
  return { ...others, FAULTS_BUDGET: budgetOf(budgetText) }
}

const system = await startFaultSystem({ say, logFile: LOG, together: TOGETHER })
const sink = await startRpcSink()
try {
  const world = { system, sink, log: createSimulatorLog(system.simulatorUrl), rate: RATE, readRate: READS }
  const rounds: Round[] = []
  const run = async (fault: typeof NO_FAULT) => {
    const [control] = rounds
    const round = await runRound({ world, fault, round: rounds.length, before: control?.holdings })
    rounds.push(round)
    console.log(row(round))
  }
  await installFaketime({ directory: system.directory, say })
  const chosen = { names: process.argv.slice(2), budget: FAULTS_BUDGET, seed }
  console.log(`SEED=${seed}, ${RATE} messages and ${READS} reads a second`)
  console.log(head())
  await run(NO_FAULT)
  for (const fault of faultSequence({ all: allFaults(system), ...chosen })) await run(fault)
  const before = rounds[0]?.holdings ?? {}
  const leaksNow = () => leaks(before, readHoldings(system.pids()))
  await waitUntil(() => leaksNow().length === 0, { timeoutMs: REST_MS, intervalMs: REST_CHECK_MS })
  const further = [...leaksNow(), ...(await uncountedPosts())]
  console.log(summary(rounds, further))
  if (further.length > 0 || rounds.some((round) => round.violations.length > 0)) process.exitCode = 1
} finally {
  await system.stop()
  await sink.close()
}

/** What the provider posted and got an answer to, and no count of the answers has. */
async function uncountedPosts(): Promise<string[]> {
  const { webhook } = await readTroubles(system)
  console.log(`The webhook's answers to the provider: ${JSON.stringify(webhook)}`)
  const difference = uncounted(webhook)
  return difference === 0 ? [] : [`${difference} of what the provider posted are in no count`]
}
