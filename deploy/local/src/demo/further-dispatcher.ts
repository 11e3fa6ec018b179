import { join } from 'node:path'
import { defined } from '@parley/shared/defined'
import type { ServiceName } from '@parley/shared/internal-token'
import { choosePorts } from '../servers/choose-ports.ts'
import { NodeProcess } from '../system/node-process.ts'
import { planInstances } from '../system/plan-processes.ts'
import { loadSecrets } from '../system/secrets.ts'
import { waitUntil } from '../wait-until.ts'
import { isReady, type Kill, type RunningSystem } from './running-system.ts'

const NAME = 'dispatcher-2'
const READY_MS = 60_000
const STOP_MS = 25_000

/** A dispatcher beside those of the running system. It ends with this process. */
export interface FurtherDispatcher {
  readonly name: string
  /** Kills it (SIGKILL), starts it again, and waits until it and the gateway are ready, at most a minute. */
  kill(): Promise<Kill>
  stop(): Promise<void>
}

/**
 * Starts a dispatcher of its own process, which shares the partitions with the system's, for where one process hosts all
 * services and nothing else could be killed alone. Resolves when it is ready, and rejects when that takes a minute.
 */
export async function startFurtherDispatcher(options: {
  system: RunningSystem
  /** The state of the system. */
  directory: string
  /** The name of a service's database; the service's own when not given. */
  databaseOf?: (service: ServiceName) => string
}): Promise<FurtherDispatcher> {
  const { system, directory } = options
  const say = () => undefined
  const file = join(directory, 'demo-ports.json')
  const own = await choosePorts({ file, names: [NAME, `${NAME}-metrics`], say })
  const [plan] = planInstances({
    directory,
    secrets: loadSecrets(join(directory, 'secrets.json')),
    ports: { ...portsOf(system), [NAME]: own[NAME] },
    instances: { dispatcher: 2 },
    metricsPorts: { [NAME]: own[`${NAME}-metrics`] },
    mongoUrl: system.mongoUrl,
    amqpUrl: system.amqpUrl,
    redisUrl: system.redisUrl,
    logLevel: 'fatal',
    memory: 'small',
    ...defined({ databaseOf: options.databaseOf }),
  })
  if (plan === undefined) throw new Error('no further dispatcher is planned')
  const started = new NodeProcess({ plan, owner: join(directory, 'services'), say })
  const [{ url } = { url: '' }] = plan.listeners
  const areReady = async () => (await isReady(url)) && (await isReady(system.gatewayUrl))
  const ready = async () => {
    if (!(await waitUntil(areReady, { timeoutMs: READY_MS })))
      throw new Error(`${NAME} was not ready within ${READY_MS / 1_000} s`)
  }
  await ready()
  return {
    name: NAME,
    async kill() {
      const { pid = 0 } = started
      const [at, since] = [Date.now(), performance.now()]
      process.kill(pid, 'SIGKILL')
      await started.exited
      await started.restart()
      await ready()
      return { victim: NAME, pid, at, readyAfterMs: performance.now() - since }
    },
    stop: () => started.stop({ graceMs: STOP_MS }),
  }
}

/** The port of each process of the system; a server is none of them. */
function portsOf({ processes }: RunningSystem) {
  const ours = Object.entries(processes).filter(([, { url }]) => url.startsWith('http'))
  const ports = ours.map(([name, { url }]) => [name, Number(new URL(url).port)])
  return Object.fromEntries(ports) as Record<ServiceName | 'simulator' | 'model-simulator', number>
}
