// Parley and Outpost (github.com/hookdeck/outpost), in turns on the same machine: messages from the public API to a webhook
// endpoint that answers at once, all processes and servers counted.
//   PEERS=/folder npm run bench -- peers    where /folder/outpost has Outpost's source
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { report } from '../../lab/report/results.ts'
import { startOwnSystem } from '../../lab/system/own-system.ts'
import {
  type Figures,
  groupProcesses,
  measuredWhole,
  memoryOf,
  type ProcessGroups,
  sum,
} from '../../lab/system/process-groups.ts'
import { type LoadProcess, makeParleyTarget, measureIdle, measureLoad, startLoad } from '../load-process.ts'
import type { LoadTarget } from '../load-requests.ts'
import {
  buildOutpost,
  findOutpost,
  type OutpostBinaries,
  type OutpostParts,
  versionOf,
} from './find-outpost.ts'
import { type PeerRun, printRuns, reportRuns } from './peer-tables.ts'
import { SETTINGS, startOutpost } from './start-outpost.ts'

const size = z.object({
  PEERS: z
    .string()
    .optional()
    .describe("The folder with the peers' sources: Outpost's is its folder `outpost`"),
  RUNS: integer({ min: 1, max: 20 }).default(1).describe('Turns of each'),
  MESSAGES: integer({ min: 100, max: 1_000_000 }).default(10_000).describe('Messages posted at once'),
  CONNECTIONS: integer({ min: 1, max: 64 }).default(64).describe('Posts under way at a time'),
  RATE: integer({ min: 1, max: 10_000 }).default(200).describe('Messages a second of the steady load'),
  STEADY_SECONDS: integer({ min: 1, max: 300 }).default(30).describe('How long the steady load lasts'),
  IDLE_SECONDS: integer({ min: 1, max: 300 }).default(5).describe('How long nothing happens beforehand'),
  // Outpost stores what happened in PostgreSQL up to 10 s later.
  CALM_SECONDS: integer({ min: 1, max: 60 })
    .default(11)
    .describe('How long a load counts after its last arrival'),
  WARM_UP_MESSAGES: integer({ min: 1, max: 1_000_000 })
    .default(8_000)
    .describe('Messages of each beforehand'),
})
const MOST_SECONDS = 300

/** A system that runs, and where messages for it are posted. */
interface Peer {
  target: LoadTarget
  groups(): ProcessGroups
  stop(): Promise<void>
}

const {
  PEERS,
  RUNS,
  MESSAGES,
  CONNECTIONS,
  RATE,
  STEADY_SECONDS,
  IDLE_SECONDS,
  CALM_SECONDS,
  WARM_UP_MESSAGES,
} = parseConfig(size, process.env)
const found = findOutpost(PEERS)
if ('missing' in found) {
  const reason = `not measured: ${found.missing.join(', ')} not found`
  console.log(`Outpost: ${reason}`)
  report({ row: 'messages from the API to a webhook, beside Outpost', parley: '', against: reason })
} else await compare(found)

async function compare(parts: OutpostParts): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-peers-'))
  try {
    console.error('Building Outpost …')
    const binaries = await buildOutpost(parts, directory)
    const starts = {
      Parley: startParley,
      Outpost: (callbackUrl: string) => startPeer({ parts, binaries, callbackUrl }),
    }
    const runs: Record<keyof typeof starts, PeerRun[]> = { Parley: [], Outpost: [] }
    for (let turn = 0; turn < RUNS; turn++) {
      for (const name of ['Parley', 'Outpost'] as const) {
        console.error(`Turn ${turn + 1} of ${RUNS}: ${name}`)
        runs[name].push(await measuredWhole(() => measure(starts[name])))
      }
    }
    console.log(`\nOutpost ${versionOf(parts) ?? '(version unknown)'}, ${JSON.stringify(SETTINGS)}`)
    printRuns(runs, { messages: MESSAGES, rate: RATE, seconds: STEADY_SECONDS })
    reportRuns(runs, { rate: RATE })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function startParley(callbackUrl: string): Promise<Peer> {
  // As `npm start` has it.
  const own = await startOwnSystem({ instances: {}, together: true, memory: 'small', say: console.error })
  try {
    const groups = groupProcesses(own)
    return { target: await makeParleyTarget(own, callbackUrl), groups: () => groups, stop: own.stop }
  } catch (error) {
    await own.stop()
    throw error
  }
}

async function startPeer(options: {
  parts: OutpostParts
  binaries: OutpostBinaries
  callbackUrl: string
}): Promise<Peer> {
  const { callbackUrl, ...rest } = options
  const outpost = await startOutpost({ ...rest, say: console.error })
  try {
    return { target: await outpost.makeTarget(callbackUrl), groups: outpost.groups, stop: outpost.stop }
  } catch (error) {
    await outpost.stop()
    throw error
  }
}

/** The system is started for its turn alone, so that another one's idle work is in no figure. */
async function measure(start: (callbackUrl: string) => Promise<Peer>): Promise<PeerRun> {
  const load = await startLoad()
  try {
    const { target, groups, stop } = await start(load.url)
    try {
      return await measurePeer({ load, target, groups })
    } finally {
      await stop()
    }
  } finally {
    load.stop()
  }
}

async function measurePeer(options: {
  load: LoadProcess
  target: LoadTarget
  groups(): ProcessGroups
}): Promise<PeerRun> {
  const { load, target, groups } = options
  const task = { target, connections: CONNECTIONS, seconds: MOST_SECONDS, calmSeconds: CALM_SECONDS }
  await load.carryOut({ ...task, name: 'warm-up', messages: WARM_UP_MESSAGES })
  const idle: Figures = await measureIdle(groups, IDLE_SECONDS)
  const one = { load, groups, idle }
  const burst = await measureLoad({ ...one, task: { ...task, name: 'burst', messages: MESSAGES } })
  const steady = await measureLoad({
    ...one,
    task: { ...task, name: 'steady', rate: RATE, seconds: STEADY_SECONDS },
  })
  const memory = memoryOf(groups())
  console.error(`${Math.round(burst.drainedPerSecond)}/s, ${Math.round(sum(memory))} MiB`)
  return { rate: RATE, idle, burst, steady, memory }
}
