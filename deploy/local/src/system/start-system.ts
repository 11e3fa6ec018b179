import type { ChildProcess } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { defined } from '@parley/shared/defined'
import type { ServiceName } from '@parley/shared/internal-token'
import { heapArguments, type Memory } from '@parley/shared/memory'
import { z } from 'zod'
import { stopOwned } from '../processes/owned.ts'
import { choosePorts } from '../servers/choose-ports.ts'
import type { Servers } from '../servers/start-servers.ts'
import { SetupError } from '../setup-error.ts'
import { waitUntil } from '../wait-until.ts'
import { loadProcess, NodeProcess, type Restartable, restartOnExit } from './node-process.ts'
import {
  type FrontPorts,
  furtherInstances,
  type InstanceCounts,
  PROCESSES,
  type ProcessPlan,
  planInstances,
  planProcesses,
  SIMULATORS,
  scriptOf,
} from './plan-processes.ts'
import { loadSecrets, writeAtomically } from './secrets.ts'

const READY_MS = 60_000
const READY_CHECK_MS = 50
const LEFTOVER_GRACE_MS = 10_000
const STOP_MS = 25_000

interface SystemOptions {
  /** Holds the secrets, the ports, the simulator's journal and `run.json`. */
  directory: string
  /** The gateway's. */
  port: number
  servers: Omit<Servers, 'stop'>
  /** The name of a service's database, where others use the same MongoDB; the service's own when not given. */
  databaseOf?: (service: ServiceName) => string
  say(line: string): void
  /** The least severe level that the services log; `warn` when not given. */
  logLevel?: string
  /** How much memory the services may take; `default` when not given. */
  memory?: Memory
  /** One process hosts the first of each service; each has its own when not given. */
  together?: boolean
  /** Copies beyond the first of each service start when all else is ready, as processes of their own. */
  instances?: InstanceCounts
  /** Where others reach a process, when not at its own port: a proxy that the caller runs. */
  inFront?: FrontPorts
  /** The root folder of the code that runs; this checkout's when not given. */
  checkout?: string
  /** Processes that have loaded their modules already. */
  loaded?: LoadedProcesses
  /** The longest pause before a process that ends again and again is started again; 10 s when not given. */
  lastRestartDelayMs?: number
  /** Each process starts anew whenever one of its modules changes. */
  watch?: boolean
  /** A process that somebody else starts, with the environment that is written into `<name>.env` in the directory. */
  without?: string | undefined
  /** Aborting it stops what was started so far and rejects. */
  signal?: AbortSignal
}

type LoadedProcesses = Partial<Record<string, ChildProcess>>

/**
 * Lets all processes load their modules while something else is being waited for. What {@link startSystem} does not
 * take over is the caller's to kill; all end with this process.
 */
export function loadProcesses(options: {
  directory: string
  together: boolean
  memory: Memory
}): LoadedProcesses {
  const { directory, together, memory } = options
  const owner = join(directory, 'loading')
  const names = together ? (['services', 'simulator', 'model-simulator'] as const) : PROCESSES
  const argumentsOf = (name: string) => (SIMULATORS.includes(name) ? [] : heapArguments(memory))
  const load = (name: (typeof names)[number]) =>
    loadProcess({ script: scriptOf(name), nodeArguments: argumentsOf(name), owner })
  return Object.fromEntries(names.map((name) => [name, load(name)]))
}

type ProcessState = {
  pid: number | undefined
  url: string
  /** Of a service. */
  metricsUrl?: string | undefined
}

/** The content of `run.json`. */
export interface RunFile {
  pid: number
  gatewayUrl: string
  simulatorUrl: string
  modelSimulatorUrl: string
  mongoUrl: string
  amqpUrl: string
  redisUrl: string
  /** The services, the simulators, and the servers as `mongodb`, `rabbitmq` and `redis`; further instances as
   * `dispatcher-2` and so on. Services that one process hosts have the same `pid`. */
  processes: Record<string, ProcessState>
}

export interface System extends RunFile {
  /** Stops the services and the simulators, 25 s each at most; the servers are the caller's to stop. */
  stop(): Promise<void>
}

/**
 * Starts the services and the simulators on the given servers and waits until all are ready, at most 60 s and then
 * 60 s for the gateway. From then on whatever ends is started again, servers included. Throws a SetupError that says what is
 * not ready; nothing is left running then.
 */
export async function startSystem(options: SystemOptions): Promise<System> {
  const {
    directory,
    port,
    servers,
    say,
    logLevel = 'warn',
    memory = 'default',
    instances = {},
    inFront = {},
  } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const owner = join(directory, 'services')
  await stopOwned(owner, { graceMs: LEFTOVER_GRACE_MS })
  const secrets = loadSecrets(join(directory, 'secrets.json'))
  const inner = PROCESSES.filter((name) => name !== 'gateway')
  const further = furtherInstances(instances).map(({ name }) => name)
  const file = join(directory, 'ports.json')
  const withMetrics = [...PROCESSES.filter((name) => !SIMULATORS.includes(name)), ...further]
  const names = [...inner, ...further, ...withMetrics.map(metricsOf)]
  const ports = await choosePorts({ file, names, except: port, say })
  const settings = {
    directory,
    secrets,
    logLevel,
    memory,
    instances,
    inFront,
    ports: { ...ports, gateway: port },
    metricsPorts: Object.fromEntries(withMetrics.map((name) => [name, ports[metricsOf(name)] ?? 0])),
    mongoUrl: servers.mongo.url,
    amqpUrl: servers.rabbitmq.url,
    redisUrl: servers.redis.url,
    ...defined({ checkout: options.checkout, databaseOf: options.databaseOf }),
  }
  options.signal?.throwIfAborted()
  const plans = { first: planProcesses(settings, options.together), further: planInstances(settings), owner }
  return superviseSystem(options, plans)
}

async function superviseSystem(
  options: SystemOptions,
  plans: { first: ProcessPlan[]; further: ProcessPlan[]; owner: string },
): Promise<System> {
  const { directory, servers, say, loaded = {}, watch, signal, lastRestartDelayMs: lastDelayMs } = options
  const { owner } = plans
  if (options.without !== undefined && !plans.first.some(({ name }) => name === options.without))
    throw new SetupError(`There is no ${options.without}; there are ${PROCESSES.join(', ')}.`)
  const stopping = new AbortController()
  const file = join(directory, 'run.json')
  const processes: NodeProcess[] = []
  const supervised: Promise<void>[] = []
  const write = () => writeAtomically(file, JSON.stringify(describeRun(servers, processes), null, 2))
  const supervise = (subject: Restartable) =>
    supervised.push(
      restartOnExit(subject, { say, onRestart: write, signal: stopping.signal, ...defined({ lastDelayMs }) }),
    )
  const start = (wave: ProcessPlan[]) => {
    const isOurs = ({ name }: ProcessPlan) => name !== options.without
    const started = wave
      .filter(isOurs)
      .map((plan) => new NodeProcess({ plan, owner, say, loaded: loaded[plan.name], watch }))
    processes.push(...started)
    started.forEach(supervise)
    write()
  }
  const stop = async () => {
    stopping.abort()
    await Promise.all(supervised)
    await stopProcesses(processes)
    await rm(file, { force: true })
  }
  for (const plan of plans.first) if (plan.name === options.without) leaveOut(plan, options)
  try {
    ;[servers.mongo, servers.rabbitmq, servers.redis].forEach(supervise)
    // The gateway last: as soon as it is ready, callers take the system to be.
    start(plans.first.filter(({ name }) => name !== 'gateway'))
    await waitUntilReady(processes, signal)
    start(plans.first.filter(({ name }) => name === 'gateway'))
    await waitUntilReady(processes, signal)
    start(plans.further)
    return { ...describeRun(servers, processes), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Nobody's environment has a quotation mark of this kind. */
function leaveOut({ name, script, env }: ProcessPlan, { directory, say }: SystemOptions): void {
  const file = join(directory, `${name}.env`)
  const lines = Object.entries(env).map(([key, value]) => `${key}='${value}'`)
  writeAtomically(file, lines.join('\n'))
  say(`${name} is left out. Start it: npx node --env-file=${file} --inspect --watch ${script}`)
}

const metricsOf = <N extends string>(name: N) => `${name}-metrics` as const

function stateOf({ pid, url, metricsUrl }: ProcessState): ProcessState {
  return { pid, url, metricsUrl }
}

async function waitUntilReady(processes: NodeProcess[], signal: AbortSignal | undefined): Promise<void> {
  const listeners = processes.flatMap((process) => process.listeners)
  const areReady = async () => (await Promise.all(listeners.map(({ url }) => isReady(url)))).every(Boolean)
  const ready = await waitUntil(areReady, {
    timeoutMs: READY_MS,
    intervalMs: READY_CHECK_MS,
    signal,
  })
  if (ready) return
  const health = await Promise.all(listeners.map(describeHealth))
  throw new SetupError(`The system was not ready within ${READY_MS / 1_000} s:\n${health.join('\n')}`)
}

/** The gateway first, so that nothing new comes in; the simulators last, so that what is in flight gets out. */
async function stopProcesses(processes: NodeProcess[]): Promise<void> {
  const first = processes.filter(({ name }) => name.startsWith('gateway'))
  const last = processes.filter(({ name }) => SIMULATORS.includes(name))
  const between = processes.filter((each) => !first.includes(each) && !last.includes(each))
  for (const group of [first, between, last]) {
    await Promise.all(group.map((each) => each.stop({ graceMs: STOP_MS })))
  }
}

function describeRun(servers: Omit<Servers, 'stop'>, processes: NodeProcess[]): RunFile {
  const { mongo, rabbitmq, redis } = servers
  const listening = processes.flatMap(({ pid, listeners }) => listeners.map((each) => ({ ...each, pid })))
  const urls = Object.fromEntries(listening.map(({ name, url }) => [name, url]))
  const named = [
    ...listening.map((each) => [each.name, each] as const),
    ...([
      ['mongodb', mongo],
      ['rabbitmq', rabbitmq],
      ['redis', redis],
    ] as const),
  ]
  return {
    pid: process.pid,
    gatewayUrl: urls.gateway ?? '',
    simulatorUrl: urls.simulator ?? '',
    modelSimulatorUrl: urls['model-simulator'] ?? '',
    mongoUrl: mongo.url,
    amqpUrl: rabbitmq.url,
    redisUrl: redis.url,
    processes: Object.fromEntries(named.map(([name, state]) => [name, stateOf(state)])),
  }
}

const TIMEOUT_MS = 5_000
const healthSchema = z.object({
  status: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
})

interface Addressed {
  name: string
  url: string
}

/** True when a process says that it is ready, and that nothing it depends on is unavailable. */
async function isReady(url: string): Promise<boolean> {
  const response = await askHealth(url)
  return healthSchema.safeParse(await response.json()).data?.status === 'ready'
}

/** One line for people: whether a process responds, and which of its dependencies are unavailable. */
async function describeHealth({ name, url }: Addressed): Promise<string> {
  try {
    const response = await askHealth(url)
    const health = healthSchema.safeParse(await response.json())
    const states = Object.entries(health.data?.dependencies ?? {})
    const unavailable = states.flatMap(([dependency, state]) => (state === 'up' ? [] : [dependency]))
    return `  ${name}: ${unavailable.length > 0 ? `${unavailable.join(', ')} unavailable` : 'responds'}`
  } catch {
    return `  ${name}: does not respond at ${url}`
  }
}

function askHealth(url: string): Promise<Response> {
  return fetch(new URL('/health/ready', url), { signal: AbortSignal.timeout(TIMEOUT_MS) })
}
