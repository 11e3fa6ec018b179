import { shutDown } from '@parley/local/servers/mongodb'
import { waitUntil } from '@parley/local/wait-until'
import { indexOfNode } from '../system/broker-cluster.ts'
import type { ClusterSystem } from '../system/cluster-system.ts'
import { type Choose, type InjectedFault, killOf, pidOf, suspendOf, untilReplaced } from './faults.ts'

const STEPPED_DOWN_SECONDS = 20
const ELECTED_MS = 60_000
const NODES = [0, 1, 2]

type ClusterFault = InjectedFault<ClusterSystem>

/** Every fault once: what is stopped stands still for `stoppedMs`, a dispatcher for `dispatcherStoppedMs`. */
export function clusterFaults(options: { stoppedMs: number; dispatcherStoppedMs: number }): ClusterFault[] {
  const { stoppedMs, dispatcherStoppedMs } = options
  return [
    killOf('rabbitmq-leader', leadingBroker),
    killOf('rabbitmq-follower', async (system) => (await byLeadership(system)).slice(-1)),
    killOf('rabbitmq-majority', async (system) => (await byLeadership(system)).slice(0, 2)),
    suspendOf('rabbitmq-stop', leadingBroker, stoppedMs),
    rolling(
      'rabbitmq-rolling',
      'rabbitmq',
      async (system, name) => void process.kill(pidOf(system, name), 'SIGTERM'),
    ),
    killOf('mongodb-primary', primary),
    killOf('mongodb-secondary', async (system) => (await primaryFirst(system)).slice(-1)),
    killOf('mongodb-majority', async (system) => (await primaryFirst(system)).slice(0, 2)),
    suspendOf('mongodb-stop', primary, stoppedMs),
    stepDown(),
    // Under Wine a signal would not let it end cleanly.
    rolling('mongodb-rolling', 'mongodb', ({ mongodb }, name) =>
      shutDown(Number(new URL(mongodb.nodes[indexOf(name)]?.url ?? '').port)),
    ),
    killOf('redis-node', async () => ['redis-1']),
    suspendOf('redis-stop', async () => ['redis-2'], stoppedMs),
    killOf('dispatcher-kill', async () => ['dispatcher-2']),
    // The request that it was reading when it stopped gets no answer for as long as the gateway waits for one.
    {
      ...suspendOf<ClusterSystem>('dispatcher-stop', async () => ['dispatcher-3'], dispatcherStoppedMs),
      cutsCallers: true,
    },
    killOf('webhook-kill', async () => ['webhook-2']),
    killOf('identity-kill', async () => ['identity-2']),
    killOf('configuration-kill', async () => ['configuration-2']),
    { ...killOf<ClusterSystem>('gateway-kill', async () => ['gateway-2']), cutsCallers: true },
  ]
}

const indexOf = (name: string): number => Number(name.slice(-1)) - 1

/** The nodes of RabbitMQ, those first that lead the most queues. */
async function byLeadership({ rabbitmq }: ClusterSystem): Promise<string[]> {
  const queues = await rabbitmq.members(0)
  const led = (node: number) => queues.filter(({ leader }) => indexOfNode(leader) === node).length
  return NODES.toSorted((a, b) => led(b) - led(a)).map((node) => `rabbitmq-${node + 1}`)
}

const leadingBroker: Choose<ClusterSystem> = async (system) => (await byLeadership(system)).slice(0, 1)

async function primaryFirst({ mongodb }: ClusterSystem): Promise<string[]> {
  const at = await mongodb.primary()
  if (at === undefined) throw new Error('There is no primary')
  return [at, ...NODES.filter((node) => node !== at)].map((node) => `mongodb-${node + 1}`)
}

const primary: Choose<ClusterSystem> = async (system) => (await primaryFirst(system)).slice(0, 1)

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
