// One fault at a time under a steady load, then random ones, and after each the count of what arrived.
//   npm run test:faults                      every fault once, then a few random ones
//   npm run test:faults -- 'kill -9' redis   only those whose name has one of these, and no random ones
//   TOGETHER=true npm run test:faults        one process for all services; also with the others
//   npm run test:faults -- events            outgoing events, through kills of all that they pass
import { randomInt } from 'node:crypto'
import { uncounted } from '@parley/local/demo/reconciliation'
import { readTroubles } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { createSimulatorLog, startRpcSink } from '../load/received-messages.ts'
import { seconds, tableHead } from '../report/table.ts'
import { allFaults, budgetOf, faultSequence, installFaketime, NO_FAULT } from '../strike/every-fault.ts'
import { readHoldings } from '../system/processes.ts'
import { layoutConfig, startFaultSystem } from '../system/proxied-system.ts'
import { leaks } from '../verdict/round.ts'
import { type Round, type RoundColumn, roundLine, runRound, sumOf } from './round.ts'

const REST_MS = 90_000
const REST_CHECK_MS = 1_000
const MAX_SEED = 2 ** 31
const MEANING = [
  'recovered: from the end of the fault (kill and restart: from its beginning) until every process is ready and',
  'messages are answered with 200; settled: from the end of the load until nothing is under way; slowest: from a',
  "message's 200 to its arrival; repeats: posts repeated for want of a 200; failed: reads answered with 502 to 504",
  'or cut; sockets, MiB: the most that any process holds more than before the first fault',
]
const COLUMNS: readonly RoundColumn[] = [
  ['fault', 36, ({ name }) => name],
  ['recovered', 9, ({ recoveredMs }) => seconds(recoveredMs)],
  ['settled', 8, ({ settledMs }) => seconds(settledMs)],
  ['slowest', 8, ({ slowestMs }) => seconds(slowestMs)],
  ['posted', 7, ({ reconciliation }) => reconciliation.posted],
  ['once', 6, ({ reconciliation }) => reconciliation.once],
  ['lost', 5, ({ reconciliation }) => reconciliation.missing],
  ['doubled', 8, ({ reconciliation }) => reconciliation.doubled],
  ['disorder', 9, ({ reconciliation }) => reconciliation.threadsOutOfOrder],
  ['difference', 11, ({ count }) => count?.difference ?? '?'],
  ['repeats', 8, ({ repeatedPosts }) => repeatedPosts],
  ['reads', 6, ({ reads }) => reads],
  ['failed', 7, ({ failedReads }) => failedReads],
  ['sockets', 8, ({ grown }) => (grown === undefined ? '' : `+${grown.sockets}`)],
  ['MiB', 6, ({ grown }) => (grown === undefined ? '' : `+${Math.round(grown.mebibytes)}`)],
]
const say = (line: string) => console.error(line)

if (process.argv[2] === 'events') await import('./events.ts')
else await strikeAll()

async function strikeAll(): Promise<void> {
  const { RATE, READS, SEED, FAULTS, LOG, TOGETHER } = parseConfig(
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
  const seed = SEED ?? randomInt(MAX_SEED)
  const system = await startFaultSystem({ say, logFile: LOG, together: TOGETHER })
  const sink = await startRpcSink()
  try {
    const log = createSimulatorLog(system.simulatorUrl)
    const world = { system, sink, log, rate: RATE, readRate: READS }
    const rounds: Round[] = []
    const run = async (fault: typeof NO_FAULT) => {
      const round = await runRound({ world, fault, round: rounds.length, before: rounds[0]?.holdings })
      rounds.push(round)
      console.log(roundLine(COLUMNS, round))
    }
    await installFaketime({ directory: system.directory, say })
    const chosen = { names: process.argv.slice(2), budget: budgetOf(FAULTS), seed }
    console.log(`SEED=${seed}, ${RATE} messages and ${READS} reads a second`)
    console.log(tableHead(MEANING, COLUMNS))
    await run(NO_FAULT)
    for (const fault of faultSequence({ all: allFaults(system), ...chosen })) await run(fault)
    const before = rounds[0]?.holdings ?? {}
    const leaksNow = () => leaks(before, readHoldings(system.pids()))
    await waitUntil(() => leaksNow().length === 0, { timeoutMs: REST_MS, intervalMs: REST_CHECK_MS })
    const further = [...leaksNow(), ...(await uncountedPosts(system))]
    console.log(summary(rounds, further))
    if (further.length > 0 || rounds.some((round) => round.violations.length > 0)) process.exitCode = 1
  } finally {
    await system.stop()
    await sink.close()
  }
}

/** Returns the number of the provider's posts that were answered and are in no count of the answers. */
async function uncountedPosts(system: { simulatorUrl: string }): Promise<string[]> {
  const { webhook } = await readTroubles(system)
  console.log(`The webhook's answers to the provider: ${JSON.stringify(webhook)}`)
  const difference = uncounted(webhook)
  return difference === 0 ? [] : [`${difference} of what the provider posted are in no count`]
}

/** The last line. */
function summary(rounds: Round[], further: string[]): string {
  const broken = rounds.filter((round) => round.violations.length > 0).length
  const slowest = Math.max(0, ...rounds.map(({ recoveredMs }) => recoveredMs ?? Number.POSITIVE_INFINITY))
  const figures = [
    `${rounds.length} rounds`,
    `${sumOf(rounds, 'accepted')} messages answered with 200`,
    `${sumOf(rounds, 'missing')} lost`,
    `${sumOf(rounds, 'doubled')} doubled`,
    `${sumOf(rounds, 'threadsOutOfOrder')} threads out of order`,
    `slowest recovery ${seconds(slowest)} s`,
  ]
  const verdict =
    broken === 0 && further.length === 0 ? 'Every promise was kept.' : `${broken} rounds broke a promise.`
  return ['', ...further.map((what) => `! ${what}`), `${figures.join(', ')}. ${verdict}`].join('\n')
}
