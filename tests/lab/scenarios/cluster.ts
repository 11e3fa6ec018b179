// Three nodes of each server, two of each service and three dispatchers, faults under load, and after each the count.
//   npm run test:cluster                         every fault once
//   npm run test:cluster -- rabbitmq-leader      only the faults whose name has one of these
//   npm run test:cluster -- --messages 5000      so many messages a round at least
import { parseArgs } from 'node:util'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { createSimulatorLog, startRpcSink } from '../load/received-messages.ts'
import { seconds, tableHead } from '../report/table.ts'
import { clusterFaults } from '../strike/cluster-faults.ts'
import { NO_FAULT } from '../strike/every-fault.ts'
import { startClusterSystem } from '../system/cluster-system.ts'
import { LATE_MS } from '../verdict/round.ts'
import { type Round, type RoundColumn, roundLine, runRound, sumOf } from './round.ts'

const CALM_MS = 10_000
const MAX_MESSAGES = 100_000
const DISPATCHER_STOPPED_MS = 30_000
const MEANING = [
  'accepted: answered with 200; refused: posts that got another answer or none, and were repeated under their key;',
  `whole: seconds from the fault until the last message arrived that took over ${LATE_MS / 1_000} s (0.0: none did); slowest: from`,
  "a message's 200 to its arrival; rpc again: calls repeated under their id; failed: reads answered with 502 to 504 or",
  "not at all; difference: of the service's own equation",
]
const COLUMNS: readonly RoundColumn[] = [
  ['fault', 20, ({ name }) => name],
  ['posted', 7, ({ reconciliation }) => reconciliation.posted],
  ['accepted', 9, ({ reconciliation }) => reconciliation.accepted],
  ['refused', 8, ({ repeatedPosts }) => repeatedPosts],
  ['lost', 5, ({ reconciliation }) => reconciliation.missing],
  ['twice', 6, ({ reconciliation }) => reconciliation.doubled],
  ['disorder', 9, ({ reconciliation }) => reconciliation.threadsOutOfOrder],
  ['whole', 6, ({ wholeMs }) => seconds(wholeMs)],
  ['slowest', 8, ({ slowestMs }) => seconds(slowestMs)],
  ['rpc again', 10, ({ rpcRepeats }) => rpcRepeats],
  ['reads', 6, ({ reads }) => reads],
  ['failed', 7, ({ failedReads }) => failedReads],
  ['difference', 11, ({ count }) => count?.difference ?? '?'],
]

const { RATE, READS, STOPPED, LOG } = parseConfig(
  z.object({
    RATE: integer({ min: 5, max: 500 }).default(15).describe('Messages posted a second'),
    READS: integer({ min: 1, max: 500 }).default(4).describe('Reads a second'),
    STOPPED: integer({ min: 5, max: 60 }).default(20).describe('Seconds that a stopped server stands still'),
    LOG: z.string().optional().describe('A file for what the processes log at level warn'),
  }),
  process.env,
)
const { messages, faults } = readArguments()
const say = (line: string) => console.error(line)

const system = await startClusterSystem({ say, logFile: LOG })
const sink = await startRpcSink()
try {
  const log = createSimulatorLog(system.simulatorUrl)
  const world = { system, sink, log, rate: RATE, readRate: READS, calmMs: CALM_MS, messages }
  const rounds: Round[] = []
  console.log(`${RATE} messages and ${READS} reads a second, ${messages} messages a round at least`)
  console.log(tableHead(MEANING, COLUMNS))
  for (const fault of [NO_FAULT, ...faults]) {
    const round = await runRound({ world, fault, round: rounds.length, before: undefined })
    rounds.push(round)
    console.log(roundLine(COLUMNS, round))
  }
  console.log(summary(rounds))
  if (rounds.some(({ violations }) => violations.length > 0)) process.exitCode = 1
} finally {
  await system.stop()
  await sink.close()
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { messages: { type: 'string', default: '1000' } },
  })
  const all = clusterFaults({ stoppedMs: STOPPED * 1_000, dispatcherStoppedMs: DISPATCHER_STOPPED_MS })
  const isChosen = (name: string) =>
    positionals.length === 0 || positionals.some((part) => name.includes(part))
  const chosen = all.filter(({ name }) => isChosen(name))
  const names = all.map(({ name }) => name).join(', ')
  if (chosen.length === 0) throw new ConfigError(`No fault has such a name. There are ${names}.`)
  const count = integer({ min: 0, max: MAX_MESSAGES }).parse(values.messages)
  return { messages: count, faults: chosen }
}

/** The last line: what all rounds came to. */
function summary(rounds: Round[]): string {
  const longest = Math.max(0, ...rounds.map(({ wholeMs }) => wholeMs))
  const broken = rounds.filter(({ violations }) => violations.length > 0).length
  const figures = [
    `${rounds.length} rounds`,
    `${sumOf(rounds, 'accepted')} messages accepted`,
    `${sumOf(rounds, 'missing')} lost`,
    `${sumOf(rounds, 'doubled')} sent twice`,
    `${sumOf(rounds, 'threadsOutOfOrder')} threads out of order`,
    `whole again after ${seconds(longest)} s at most`,
  ]
  const conclusion = broken === 0 ? 'PASSED' : `FAILED: ${broken} rounds broke a promise`
  return `\n${figures.join(', ')}. ${conclusion}.`
}
