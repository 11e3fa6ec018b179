import { setTimeout as pause } from 'node:timers/promises'
import { shutDown } from '@parley/local/servers/mongodb'
import { waitUntil } from '@parley/local/wait-until'
import type { InjectedFault } from '../faults/fault.ts'
import { pidOf, untilReplaced } from '../faults/process-faults.ts'
import { indexOfNode } from './broker-cluster.ts'
import type { ClusterSystem } from './cluster-system.ts'

const STEPPED_DOWN_SECONDS = 20
const ELECTED_MS = 60_000
const NODES = [0, 1, 2]

type ClusterFault = InjectedFault<ClusterSystem>
/** Chooses among the processes, when the fault strikes. */
type Choose = (system: ClusterSystem) => Promise<string[]>

/** Every fault once: what is stopped stands still for `stoppedMs`, a dispatcher for `dispatcherStoppedMs`. */
export function clusterFaults(options: { stoppedMs: number; dispatcherStoppedMs: number }): ClusterFault[] {
  const { stoppedMs, dispatcherStoppedMs } = options
  return [
    kill('rabbitmq-leader', leadingBroker),
    kill('rabbitmq-follower', async (system) => (await byLeadership(system)).slice(-1)),
    kill('rabbitmq-majority', async (system) => (await byLeadership(system)).slice(0, 2)),
    suspend('rabbitmq-stop', leadingBroker, stoppedMs),
    rolling(
      'rabbitmq-rolling',
      'rabbitmq',
      async (system, name) => void process.kill(pidOf(system, name), 'SIGTERM'),
    ),
    kill('mongodb-primary', primary),
    kill('mongodb-secondary', async (system) => (await primaryFirst(system)).slice(-1)),
    kill('mongodb-majority', async (system) => (await primaryFirst(system)).slice(0, 2)),
    suspend('mongodb-stop', primary, stoppedMs),
    stepDown(),
    // Under Wine a signal would not let it end cleanly.
    rolling('mongodb-rolling', 'mongodb', ({ mongodb }, name) =>
      shutDown(Number(new URL(mongodb.nodes[indexOf(name)]?.url ?? '').port)),
    ),
    kill('redis-node', async () => ['redis-1']),
    suspend('redis-stop', async () => ['redis-2'], stoppedMs),
    kill('dispatcher-kill', async () => ['dispatcher-2']),
    // What it was reading when it stopped gets no answer for as long as the gateway waits for one.
    { ...suspend('dispatcher-stop', async () => ['dispatcher-3'], dispatcherStoppedMs), cutsCallers: true },
    kill('webhook-kill', async () => ['webhook-2']),
    kill('identity-kill', async () => ['identity-2']),
    kill('configuration-kill', async () => ['configuration-2']),
    { ...kill('gateway-kill', async () => ['gateway-2']), cutsCallers: true },
  ]
}

const indexOf = (name: string): number => Number(name.slice(-1)) - 1

/** The nodes of RabbitMQ, those first that lead the most queues. */
async function byLeadership({ rabbitmq }: ClusterSystem): Promise<string[]> {
  const queues = await rabbitmq.members(0)
  const led = (node: number) => queues.filter(({ leader }) => indexOfNode(leader) === node).length
  return NODES.toSorted((a, b) => led(b) - led(a)).map((node) => `rabbitmq-${node + 1}`)
}

const leadingBroker: Choose = async (system) => (await byLeadership(system)).slice(0, 1)

async function primaryFirst({ mongodb }: ClusterSystem): Promise<string[]> {
  const at = await mongodb.primary()
  if (at === undefined) throw new Error('There is no primary')
  return [at, ...NODES.filter((node) => node !== at)].map((node) => `mongodb-${node + 1}`)
}

const primary: Choose = async (system) => (await primaryFirst(system)).slice(0, 1)

/** SIGKILL of all that are chosen, at once; the supervisor starts them again. Recovery counts from the kill. */
function kill(name: string, choose: Choose): ClusterFault {
  return {
    name,
    async strike({ system }) {
      const victims = (await choose(system)).map((victim) => ({ victim, pid: pidOf(system, victim) }))
      const struckAt = performance.now()
      for (const { pid } of victims) process.kill(pid, 'SIGKILL')
      for (const { victim, pid } of victims) await untilReplaced(system, victim, pid)
      return struckAt
    },
  }
}

/** SIGSTOP, and later SIGCONT; recovery counts from the SIGSTOP: the others are to go on meanwhile. */
function suspend(name: string, choose: Choose, stoppedMs: number): ClusterFault {
  return {
    name,
    async strike({ system }) {
      const [victim = ''] = await choose(system)
      const pid = pidOf(system, victim)
      const struckAt = performance.now()
      process.kill(pid, 'SIGSTOP')
      try {
        await pause(stoppedMs)
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      return struckAt
    },
  }
}

/** All nodes of a server stop cleanly and start again, one after the other. */
function rolling(
  name: string,
  server: 'rabbitmq' | 'mongodb',
  stop: (system: ClusterSystem, name: string) => Promise<void>,
): ClusterFault {
  return {
    name,
    async strike({ system }) {
      const struckAt = performance.now()
      for (const node of NODES) {
        const victim = `${server}-${node + 1}`
        const pid = pidOf(system, victim)
        await stop(system, victim)
        await untilReplaced(system, victim, pid)
        if (!(await system.ready())) throw new Error(`Not all was ready after ${victim}`)
      }
      return struckAt
    },
  }
}

function stepDown(): ClusterFault {
  return {
    name: 'mongodb-step-down',
    async strike({ system: { mongodb } }) {
      const struckAt = performance.now()
      await mongodb.stepDown(STEPPED_DOWN_SECONDS)
      const elected = async () => (await mongodb.primary()) !== undefined
      if (!(await waitUntil(elected, { timeoutMs: ELECTED_MS }))) throw new Error('No primary was elected')
      return struckAt
    },
  }
}
