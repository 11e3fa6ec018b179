// Backs MongoDB up while messages are posted, destroys it, restores it, and counts what is lost and what comes again.
//   npm run backup:drill
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Posted, postThreads } from '@parley/local/demo/post-threads'
import { withAdmin } from '@parley/local/servers/mongodb'
import type { Server } from '@parley/local/servers/server'
import type { Servers } from '@parley/local/servers/start-servers'
import { SetupError } from '@parley/local/setup-error'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { connectNumber, connectRpc, planThread, spread } from '../load/lines.ts'
import { createSimulatorLog, startRpcSink } from '../load/received-messages.ts'
import { seconds } from '../report/table.ts'
import { startOwnSystem } from '../system/own-system.ts'
import { registerWorkspace, type Workspace } from '../system/workspace.ts'
import { countPhases, untilArrived, untilReconciled, writtenIds } from './backup-phases.ts'

const { MESSAGES } = parseConfig(
  z.object({
    MESSAGES: integer({ min: 50, max: 20_000 })
      .default(300)
      .describe('Messages before the backup, after it, and while MongoDB is gone'),
  }),
  process.env,
)
const RATE = 50
const PER_THREAD = 10
const IN_FLIGHT = 10
const RPC_CHANNEL = 1
const NUMBER_CHANNEL = 2
const ASK_MS = 5_000
const say = (line: string) => console.error(line)

const own = await startOwnSystem({
  instances: {},
  prepare: async ({ servers }) => ({ servers: unsupervised(servers) }),
  say,
})
const { mongo } = own.servers
const data = join(own.directory, 'servers/mongodb/data')
const sink = await startRpcSink()
try {
  const workspace = await registerWorkspace(own.system.gatewayUrl, 'drill')
  const { simulatorUrl } = own.system
  await connectRpc({ workspace, callbackUrl: sink.url, id: RPC_CHANNEL })
  await connectNumber({ workspace, simulatorUrl, id: NUMBER_CHANNEL })
  const log = createSimulatorLog(simulatorUrl)
  const posted: Posted[][] = []
  const posting = { workspace, posted, log, sink }
  const post = async (phase: number) => void posted.push(await postPhase(workspace, phase))
  const snapshot = join(own.directory, 'snapshot')

  say(`Posting ${MESSAGES} messages …`)
  await writeConfiguration(workspace, 0)
  await post(0)
  await untilArrived(posting)
  say(`Backing up, and posting ${MESSAGES} messages meanwhile …`)
  const during = post(1)
  const lockedMs = await takeSnapshot(snapshot)
  await during
  say(`Posting ${MESSAGES} messages after the backup …`)
  await writeConfiguration(workspace, 2)
  await post(2)
  await untilArrived(posting)

  say(`Destroying MongoDB, and posting ${MESSAGES} messages without it …`)
  process.kill(mongo.pid ?? 0, 'SIGKILL')
  await mongo.exited
  await rm(data, { recursive: true, force: true })
  await post(3)

  say('Stopping the services, and restoring …')
  await own.stopServices()
  const began = performance.now()
  await restoreSnapshot(snapshot)
  await mongo.restart()
  const restoredMs = performance.now() - began
  await own.startServices()
  const readyMs = performance.now() - began
  say('Waiting until the log of what was accepted is reconciled with what was restored …')
  const { worstDifference, difference, reconciledAt } = await untilReconciled(posting)
  const reconciledMs = reconciledAt === undefined ? undefined : reconciledAt - began
  const phases = await countPhases(posting)
  const passed = reconciledAt !== undefined && phases.every((one) => one.arrived === one.accepted)
  const rows = phases.map(({ phase, accepted, arrived, doubled, written, found }) => [
    ...[phase, accepted, accepted - arrived, doubled],
    written === 0 ? '–' : `${written - found} of ${written}`,
  ])
  console.log(
    [
      '| posted or written | accepted | lost | sent again over WhatsApp | configuration lost |',
      '| --- | --- | --- | --- | --- |',
      ...rows.map((cells) => `| ${cells.join(' | ')} |`),
      '',
      `RPC calls that came again under their id: ${sink.repeats()}. Messages that the restored store did not know: ${worstDifference};`,
      `after that ${difference ?? 'unknown'}. No writes during the backup: ${seconds(lockedMs)} s. From the beginning of the restore:`,
      `MongoDB restored ${seconds(restoredMs)} s, all services ready ${seconds(readyMs)} s, reconciled ${seconds(reconciledMs)} s.`,
      passed
        ? 'PASSED: no accepted message is lost.'
        : 'FAILED: accepted messages are lost, or it was not reconciled.',
    ].join('\n'),
  )
  if (!passed) process.exitCode = 1
} finally {
  await own.stop()
  await sink.close()
}

/** MongoDB is not started again by itself: its data are to be gone. */
function unsupervised({ mongo, rabbitmq, redis }: Servers): Omit<Servers, 'stop'> {
  if (mongo.pid === undefined) throw new SetupError('MongoDB is not a process of this machine’s own.')
  const never: Server = Object.create(mongo, { exited: { value: new Promise(() => undefined) } })
  return { mongo: never, rabbitmq, redis }
}

/** Some channels that nothing uses. */
async function writeConfiguration(workspace: Workspace, phase: number): Promise<void> {
  for (const id of writtenIds(phase))
    await connectRpc({ workspace, callbackUrl: 'http://127.0.0.1:9/unused', id, extId: `written-${id}` })
}

async function postPhase(workspace: Workspace, phase: number): Promise<Posted[]> {
  const threads = spread(MESSAGES, PER_THREAD).map((size, at) => {
    const line = at % 2 === 0 ? {} : { number: NUMBER_CHANNEL }
    return planThread({ run: 'drill', thread: phase * MESSAGES + at, messages: size, ...line })
  })
  return postThreads({ threads, gateway: workspace, inFlight: IN_FLIGHT, rate: RATE, onAccepted: () => {} })
}

/**
 * Copies mongod's data folder while it is locked, as a snapshot of its volume does: MongoDB takes no writes meanwhile.
 * Returns for how many milliseconds it took none.
 */
function takeSnapshot(to: string): Promise<number> {
  return withAdmin(mongo.url, ASK_MS, async (admin) => {
    await admin.command({ fsync: 1, lock: true })
    const lockedAt = performance.now()
    try {
      await cp(data, to, { recursive: true })
    } finally {
      await admin.command({ fsyncUnlock: 1 })
    }
    return performance.now() - lockedAt
  })
}

/** Puts a snapshot in the place of mongod's data folder, while no mongod runs on it. */
async function restoreSnapshot(from: string): Promise<void> {
  await rm(data, { recursive: true, force: true })
  await cp(from, data, { recursive: true })
  // Of the mongod that ran when the snapshot was taken.
  await rm(`${data}/mongod.lock`, { force: true })
}
