// Messages from the public door to an endpoint, all of Parley and its servers as processes: how many, how soon, and what
// each process spends on one.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CHECKOUT } from '@parley/local/checkout'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { connectRpc } from '../dispatch/lines.ts'
import { type OwnSystem, startOwnSystem } from '../dispatch/own-system.ts'
import { registerWorkspace } from '../dispatch/workspace.ts'
import { exactlyOnce } from './delivery-counts.ts'
import type { LoadEndpoint, LoadOutcome, LoadTask } from './end-to-end-load.ts'
import { type InstanceRun, type LoadRun, printCosts, printFits, sum, withIdle } from './end-to-end-tables.ts'
import { connectionsTo, groupProcesses, type ProcessGroups } from './process-groups.ts'
import { cpuSeconds, residentKib } from './processes.ts'
import { report } from './results.ts'
import { countQuestions } from './server-questions.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 300 }).default(15).describe('Seconds of each load'),
  CONNECTIONS: integer({ min: 1, max: 64 }).default(64).describe('Posts under way at a time'),
  RATE: integer({ min: 1, max: 10_000 }).default(500).describe('Messages a second of the steady load'),
  IDLE_SECONDS: integer({ min: 1, max: 300 }).default(10).describe('How long nothing happens beforehand'),
  INSTANCES: z
    .string()
    .regex(/^[1-8](,[1-8])*$/, { error: 'is not a list such as 1,2,4' })
    .default('1')
    .transform((list) => list.split(',').map(Number))
    .describe('Webhooks, and as many dispatchers: one run for each number'),
})
/** For each instance: until then it spends more on a message, since its code is not compiled yet. */
const WARM_UP_MESSAGES = 8_000
const WARM_UP_SECONDS = 120
const CALM_MS = 2_000
/** Below that share of the steady rate the machine could not do it. */
const REACHED = 0.98
const CHANNEL = 'end-to-end'

type Load = Awaited<ReturnType<typeof startLoad>>

const { DURATION, CONNECTIONS, RATE, IDLE_SECONDS, INSTANCES } = parseConfig(size, process.env)
const runs: InstanceRun[] = []
for (const instances of INSTANCES) {
  const run = await measure(instances)
  runs.push(run)
  printCosts(run)
  const { postsPerSecond } = run.steady
  if (postsPerSecond < RATE * REACHED)
    console.log(`Only ${Math.round(postsPerSecond)} of ${RATE} posts a second were reached.`)
  const total = sum(withIdle(run))
  report({
    row: `processor time of a message end to end, µs, at ${RATE}/s, ${instances} of webhook and dispatcher`,
    parley: `${Math.round(total)} µs`,
    against: '',
    ratio: total,
    spread: [total, total],
  })
}
if (new Set(INSTANCES).size > 1) printFits(runs)
if (runs.every(({ closed, steady }) => exactlyOnce(closed) && exactlyOnce(steady)))
  console.log('Every message was delivered exactly once.')
else {
  console.log('Not every message was delivered exactly once.')
  process.exitCode = 1
}

async function measure(instances: number): Promise<InstanceRun> {
  const load = await startLoad()
  const own = await startOwnSystem({
    instances: { webhook: instances, dispatcher: instances },
    say: console.error,
  })
  try {
    const task = await prepare(own, load.url)
    const groups = groupProcesses(own)
    const messages = instances * WARM_UP_MESSAGES
    await load.carryOut({ ...task, name: 'warm-up', seconds: WARM_UP_SECONDS, messages })
    await pause(CALM_MS)
    const atRest = await measureIdle(own, groups)
    const measureOne = (kind: Pick<LoadTask, 'name' | 'rate'>) =>
      measureLoad({ own, groups, load, atRest, task: { ...task, ...kind } })
    const closed = await measureOne({ name: 'closed' })
    const steady = await measureOne({ name: 'steady', rate: RATE })
    return { instances, rate: RATE, ...atRest, closed, steady, holdings: holdings(own, groups) }
  } finally {
    load.stop()
    await own.stop()
  }
}

/** The client and the endpoint, in a process of their own, so that no other's processor time has them in it. */
async function startLoad() {
  const child = fork(join(CHECKOUT, 'tests/bench/end-to-end-load.ts'))
  const answer = async <T>() => {
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('The load has ended')))
    const [message] = await Promise.race([once(child, 'message'), ended])
    return message as T
  }
  const { url } = await answer<LoadEndpoint>()
  return {
    url,
    carryOut(task: LoadTask): Promise<LoadOutcome> {
      child.send(task)
      return answer<LoadOutcome>()
    },
    stop: () => child.disconnect(),
  }
}

/** A workspace with an API token and a channel whose sends go to `callbackUrl`: all of a load but its name. */
async function prepare({ system }: OwnSystem, callbackUrl: string): Promise<Omit<LoadTask, 'name'>> {
  const workspace = await registerWorkspace(system.gatewayUrl, 'bench')
  await connectRpc({ workspace, callbackUrl, id: 1, extId: CHANNEL })
  const made = await workspace.call('POST', '/api/auth/tokens', { name: 'bench', role: 'WORKSPACE_ADMIN' })
  const { token } = z.looseObject({ token: z.string() }).parse(made)
  const port = Number(new URL(system.gatewayUrl).port)
  return { port, token, channel: CHANNEL, connections: CONNECTIONS, seconds: DURATION }
}

async function measureLoad(options: {
  own: OwnSystem
  groups: ProcessGroups
  load: Load
  atRest: Pick<InstanceRun, 'idle' | 'questions'>
  task: LoadTask
}): Promise<LoadRun> {
  const { own, groups, load, atRest, task } = options
  const asked = await countQuestions(own.servers)
  const began = performance.now()
  const before = secondsOf(groups)
  const outcome = await load.carryOut(task)
  const spent = since(before, secondsOf(groups))
  const seconds = (performance.now() - began) / 1_000
  const questions = since(asked, await countQuestions(own.servers))
  const perMessage = (used: number, perSecondAtRest = 0) =>
    (used - perSecondAtRest * seconds) / outcome.posted
  return {
    ...outcome,
    seconds,
    micros: mapValues(spent, (each, name) => perMessage(each * 1e6, (atRest.idle[name] ?? 0) * 1e3)),
    questions: mapValues(questions, (each, name) => perMessage(each, atRest.questions[name])),
  }
}

/** Milliseconds of processor time a second while nothing happens, and what the servers are asked a second. */
async function measureIdle({ servers }: OwnSystem, groups: ProcessGroups) {
  const asked = await countQuestions(servers)
  const before = secondsOf(groups)
  await pause(IDLE_SECONDS * 1_000)
  const spent = since(before, secondsOf(groups))
  const questions = since(asked, await countQuestions(servers))
  return {
    idle: mapValues(spent, (each) => (each * 1_000) / IDLE_SECONDS),
    questions: mapValues(questions, (each) => each / IDLE_SECONDS),
  }
}

/** Memory and connections of each process, the mean of a group's. */
function holdings({ servers }: OwnSystem, groups: ProcessGroups): InstanceRun['holdings'] {
  const { mongo, rabbitmq, redis } = servers
  const ports = mapValues({ mongo, rabbitmq, redis }, ({ url }) => Number(new URL(url).port))
  return mapValues(groups, ({ pids, instances }) => {
    const each = (sum: number) => sum / instances
    return {
      instances,
      mebibytes: each(pids.reduce((sum, pid) => sum + residentKib({ pid }), 0) / 1_024),
      mongo: each(connectionsTo(ports.mongo, pids)),
      rabbitmq: each(connectionsTo(ports.rabbitmq, pids)),
      redis: each(connectionsTo(ports.redis, pids)),
    }
  })
}

function secondsOf(groups: ProcessGroups): Record<string, number> {
  return mapValues(groups, ({ pids }) => pids.reduce((sum, pid) => sum + cpuSeconds({ pid }), 0))
}

function since(before: Record<string, number>, after: Record<string, number>): Record<string, number> {
  return mapValues(after, (seconds, name) => seconds - (before[name] ?? 0))
}

function mapValues<K extends string, V, W>(record: Record<K, V>, map: (value: V, key: K) => W): Record<K, W> {
  const entries = (Object.entries(record) as [K, V][]).map(([key, value]) => [key, map(value, key)])
  return Object.fromEntries(entries)
}
