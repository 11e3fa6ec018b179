// Three nodes of each server, two of each service and three dispatchers, faults under load, and after each the count.
//   npm run test:cluster                         every fault once
//   npm run test:cluster -- rabbitmq-leader      only the faults whose name has one of these
//   npm run test:cluster -- --messages 5000      so many messages a round at least
import { parseArgs } from 'node:util'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { createSimulatorLog, startRpcSink } from '../dispatch/received-messages.ts'
import { NO_FAULT } from '../faults/catalogue.ts'
import { type Round, runRound } from '../faults/round.ts'
import { clusterFaults } from './cluster-faults.ts'
import { startClusterSystem } from './cluster-system.ts'
import { head, row, verdict } from './report.ts'

const CALM_MS = 10_000
const MAX_MESSAGES = 100_000

const { RATE, READS, STOPPED, LOG } = parseConfig(
  z.object({
    RATE: integer({ min: 5, max: 500 }).default(15).describe('Messages posted a second'),
    READS: integer({ min: 1, max: 500 }).default(4).describe('Reads a second'),
    STOPPED: integer({ min: 5, max: 60 }).default(20).describe('Seconds that a stopped server stands still'),
    LOG: z.string().optional().describe('A file for what the processes log at level warn'),
  }),
  process.env,
)
const DISPATCHER_STOPPED_MS = 30_000
const { messages, faults } = readArguments()
const say = (line: string) => console.error(line)

const system = await startClusterSystem({ say, logFile: LOG })
const sink = await startRpcSink()
try {
  const log = createSimulatorLog(system.simulatorUrl)
  const world = { system, sink, log, rate: RATE, readRate: READS, calmMs: CALM_MS, messages }
  const rounds: Round[] = []
  console.log(`${RATE} messages and ${READS} reads a second, ${messages} messages a round at least`)
  console.log(head())
  for (const fault of [NO_FAULT, ...faults]) {
    const round = await runRound({ world, fault, round: rounds.length, before: undefined })
    rounds.push(round)
    console.log(row(round))
  }
  console.log(verdict(rounds))
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
