import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Posted, postThreads } from '@parley/local/demo/post-threads'
import { choosePorts } from '@parley/local/servers/choose-ports'
import type { Server } from '@parley/local/servers/server'
import { type Servers, startServers } from '@parley/local/servers/start-servers'
import { SetupError } from '@parley/local/setup-error'
import { startSystem } from '@parley/local/system/start-system'
import { waitUntil } from '@parley/local/wait-until'
import { connectNumber, connectRpc, planThread, spread } from '../dispatch/lines.ts'
import { createSimulatorLog, startRpcSink } from '../dispatch/received-messages.ts'
import { areReady, inTemporaryState } from '../dispatch/temporary-state.ts'
import { type DispatchWorkspace, registerWorkspace } from '../dispatch/workspace.ts'
import { countPhases, type PhaseCount, untilArrived, untilReconciled, writtenIds } from './outcome.ts'
import { restoreSnapshot, takeSnapshot } from './snapshot.ts'

const RATE = 50
const PER_THREAD = 10
const IN_FLIGHT = 10
const RPC_CHANNEL = 1
const NUMBER_CHANNEL = 2
const READY_MS = 120_000

export interface Drill {
  phases: PhaseCount[]
  /** RPC calls that came again under their id. */
  rpcRepeats: number
  /** How many messages the auditor published again, as the equation saw them at its worst. */
  worstDifference: number
  difference: number | undefined
  ms: { locked: number; restored: number; ready: number; reconciled: number | undefined }
  passed: boolean
}

/** Posts messages and configuration, backs up, goes on, destroys MongoDB, restores it, and waits until all is reconciled. */
export async function runDrill(options: { messages: number; say(line: string): void }): Promise<Drill> {
  const { messages, say } = options
  const own = await startOwn(say)
  const sink = await startRpcSink()
  try {
    const system = await own.startServices()
    const workspace = await registerWorkspace(own.gatewayUrl, 'drill')
    await connectRpc({ workspace, callbackUrl: sink.url, id: RPC_CHANNEL })
    await connectNumber({ workspace, simulatorUrl: system.simulatorUrl, id: NUMBER_CHANNEL })
    const log = createSimulatorLog(system.simulatorUrl)
    const posted: Posted[][] = []
    const posting = { workspace, posted, log, sink }
    const post = async (phase: number) => void posted.push(await postPhase(workspace, phase, messages))
    const snapshot = join(own.directory, 'snapshot')

    say(`Posting ${messages} messages …`)
    await writeConfiguration(workspace, 0)
    await post(0)
    await untilArrived(posting)
    say(`Backing up, and posting ${messages} messages meanwhile …`)
    const during = post(1)
    const data = join(own.directory, 'servers/mongodb/data')
    const locked = await takeSnapshot({ mongoUrl: own.servers.mongo.url, data, to: snapshot })
    await during
    say(`Posting ${messages} messages after the backup …`)
    await writeConfiguration(workspace, 2)
    await post(2)
    await untilArrived(posting)

    say(`Destroying MongoDB, and posting ${messages} messages without it …`)
    process.kill(own.servers.mongo.pid ?? 0, 'SIGKILL')
    await own.servers.mongo.exited
    await rm(data, { recursive: true, force: true })
    await post(3)

    say('Stopping the services, and restoring …')
    await system.stop()
    const began = performance.now()
    await restoreSnapshot({ from: snapshot, data })
    await own.servers.mongo.restart()
    const restored = performance.now()
    await own.startServices()
    const ready = performance.now()
    say('Waiting until the log of what was accepted is reconciled with what was restored …')
    const outcome = await untilReconciled(posting)
    const phases = await countPhases(posting)
    return {
      phases,
      ...outcome,
      rpcRepeats: sink.repeats(),
      ms: {
        locked,
        restored: restored - began,
        ready: ready - began,
        reconciled: outcome.reconciledAt === undefined ? undefined : outcome.reconciledAt - began,
      },
      passed: outcome.reconciledAt !== undefined && phases.every((one) => one.arrived === one.accepted),
    }
  } finally {
    await own.stop()
    await sink.close()
  }
}

/** Servers with temporary state, on which the services can be started more than once. */
function startOwn(say: (line: string) => void) {
  return inTemporaryState('backup', async ({ directory, stopLater }) => {
    const servers = await startServers({ directory: join(directory, 'servers'), say })
    stopLater(servers.stop)
    if (servers.mongo.pid === undefined)
      throw new SetupError('MongoDB is not a process of this machine’s own.')
    const file = join(directory, 'gateway-port.json')
    const { gateway: port } = await choosePorts({ file, names: ['gateway'], say })
    let stopServices = async () => {}
    stopLater(() => stopServices())
    return {
      directory,
      servers,
      gatewayUrl: `http://127.0.0.1:${port}`,
      async startServices() {
        const quiet = { say: () => undefined, logLevel: 'fatal' }
        const system = await startSystem({ directory, port, servers: unsupervised(servers), ...quiet })
        stopServices = system.stop
        if (!(await waitUntil(() => areReady(system), { timeoutMs: READY_MS })))
          throw new Error('Not all services became ready')
        return system
      },
    }
  })
}

/** MongoDB is not started again by itself: its data are to be gone. */
function unsupervised({ mongo, rabbitmq, redis }: Servers): Omit<Servers, 'stop'> {
  const never: Server = Object.create(mongo, { exited: { value: new Promise(() => undefined) } })
  return { mongo: never, rabbitmq, redis }
}

/** Some channels that nothing uses. */
async function writeConfiguration(workspace: DispatchWorkspace, phase: number): Promise<void> {
  for (const id of writtenIds(phase))
    await connectRpc({ workspace, callbackUrl: 'http://127.0.0.1:9/unused', id, extId: `written-${id}` })
}

async function postPhase(workspace: DispatchWorkspace, phase: number, messages: number): Promise<Posted[]> {
  const threads = spread(messages, PER_THREAD).map((size, at) => {
    const line = at % 2 === 0 ? {} : { number: NUMBER_CHANNEL }
    return planThread({ run: 'drill', thread: phase * messages + at, messages: size, ...line })
  })
  return postThreads({ threads, gateway: workspace, inFlight: IN_FLIGHT, rate: RATE, onAccepted: () => {} })
}
