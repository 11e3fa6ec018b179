// Messages from the public door to an endpoint, all of Parley and its servers as processes: how many, how soon, and what
// each process spends on one.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Servers } from '@parley/local/servers/start-servers'
import { integer, parseConfig } from '@parley/shared/config'
import { memoryConfig } from '@parley/shared/memory'
import { Redis } from 'ioredis'
import mongoose from 'mongoose'
import { z } from 'zod'
import { reportFigure } from '../lab/report/results.ts'
import { type OwnSystem, startOwnSystem } from '../lab/system/own-system.ts'
import {
  connectionsTo,
  groupProcesses,
  mapValues,
  type ProcessGroups,
  since,
  sum,
} from '../lab/system/process-groups.ts'
import { residentKib } from '../lab/system/processes.ts'
import { exactlyOnce } from '../lab/verdict/arrivals.ts'
import type { LoadTask } from './end-to-end-load.ts'
import { type InstanceRun, type LoadRun, printCosts, printFits, withIdle } from './end-to-end-tables.ts'
import { type LoadProcess, makeParleyTarget, measureIdle, measureLoad, startLoad } from './load-process.ts'
import { measureGrowth } from './memory-growth.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 300 }).default(15).describe('Seconds of each load'),
  CONNECTIONS: integer({ min: 1, max: 64 }).default(64).describe('Posts under way at a time'),
  RATE: integer({ min: 1, max: 10_000 }).default(500).describe('Messages a second of the steady load'),
  IDLE_SECONDS: integer({ min: 1, max: 300 }).default(10).describe('How long nothing happens beforehand'),
  CALM_SECONDS: integer({ min: 1, max: 60 })
    .default(6)
    .describe(
      'How long a load counts after its last arrival: a repeat would come by then, and the audit be done',
    ),
  WARM_UP_MESSAGES: integer({ min: 1, max: 1_000_000 })
    .default(8_000)
    .describe('For each instance beforehand: until then it spends more on a message, not being compiled yet'),
  INSTANCES: z
    .string()
    .regex(/^[1-8](,[1-8])*$/, { error: 'is not a list such as 1,2,4' })
    .default('1')
    .transform((list) => list.split(',').map(Number))
    .describe('Webhooks, and as many dispatchers: one run for each number'),
  TOGETHER: z.stringbool().default(false).describe('One process hosts the first of each service'),
  CONTROL_GROUPS: z
    .string()
    .default('')
    .transform((list) => list.split(',').filter((path) => path !== ''))
    .describe(
      'Directories of control groups, separated by commas: all but the load runs within their limits',
    ),
  GROWTH_MESSAGES: integer({ min: 0, max: 10_000_000 })
    .default(0)
    .describe('Measures the memory over so many messages, and nothing else'),
  ...memoryConfig,
})
const WARM_UP_SECONDS = 120
const CALM_MS = 2_000
/** Below that share of the steady rate the machine could not do it. */
const REACHED = 0.98

const {
  DURATION,
  CONNECTIONS,
  RATE,
  IDLE_SECONDS,
  CALM_SECONDS,
  WARM_UP_MESSAGES,
  INSTANCES,
  TOGETHER,
  CONTROL_GROUPS,
  GROWTH_MESSAGES,
  MEMORY,
} = parseConfig(size, process.env)
const counters = z.looseObject({ opcounters: z.record(z.string(), z.number()) })

const runs: InstanceRun[] = []
if (GROWTH_MESSAGES > 0) conclude(await measureMemory())
else await measureAll()

async function measureAll(): Promise<void> {
  for (const instances of INSTANCES) {
    const run = await measure(instances)
    runs.push(run)
    printCosts(run)
    const { postsPerSecond } = run.steady
    if (postsPerSecond < RATE * REACHED)
      console.log(`Only ${Math.round(postsPerSecond)} of ${RATE} posts a second were reached.`)
    const total = sum(withIdle(run))
    reportFigure({
      row: `processor time of a message end to end, µs, at ${RATE}/s, ${instances} of webhook and dispatcher`,
      ...{ values: [total], unit: ' µs' },
    })
  }
  if (new Set(INSTANCES).size > 1) printFits(runs)
  conclude(runs.every(({ closed, steady }) => exactlyOnce(closed) && exactlyOnce(steady)))
}

function conclude(isExact: boolean): void {
  console.log(`${isExact ? 'Every' : 'Not every'} message was delivered exactly once.`)
  if (!isExact) process.exitCode = 1
}

interface Loaded {
  own: OwnSystem
  load: LoadProcess
  task: Omit<LoadTask, 'name'>
}

/** Starts a system and its load, and sends what is to be compiled by then. */
async function withSystem<T>(instances: number, measureOn: (loaded: Loaded) => Promise<T>): Promise<T> {
  const load = await startLoad()
  moveTo(CONTROL_GROUPS)
  const own = await startOwnSystem({
    instances: { webhook: instances, dispatcher: instances },
    together: TOGETHER,
    memory: MEMORY,
    say: console.error,
  })
  moveTo(CONTROL_GROUPS.map((path) => join(path, '..')))
  try {
    const target = await makeParleyTarget(own, load.url)
    const task = { target, connections: CONNECTIONS, seconds: DURATION, calmSeconds: CALM_SECONDS }
    const messages = instances * WARM_UP_MESSAGES
    await load.carryOut({ ...task, name: 'warm-up', seconds: WARM_UP_SECONDS, messages })
    await pause(CALM_MS)
    return await measureOn({ own, load, task })
  } finally {
    load.stop()
    await own.stop()
  }
}

function measureMemory(): Promise<boolean> {
  return withSystem(1, ({ own, load, task }) =>
    measureGrowth({ messages: GROWTH_MESSAGES, load, groups: groupProcesses(own), task }),
  )
}

function measure(instances: number): Promise<InstanceRun> {
  return withSystem(instances, async ({ own, load, task }) => {
    const found = groupProcesses(own)
    const groups = () => found
    const atRest = await measureAtRest(own, groups)
    const measureOne = (kind: Pick<LoadTask, 'name' | 'rate'>) =>
      measureQuestions({ own, groups, load, atRest, task: { ...task, ...kind } })
    const closed = await measureOne({ name: 'closed' })
    const steady = await measureOne({ name: 'steady', rate: RATE })
    return { instances, rate: RATE, ...atRest, closed, steady, holdings: holdings(own, found) }
  })
}

/** Runs later children of this process in these control groups; children that it has started stay where they are. */
function moveTo(controlGroups: readonly string[]): void {
  for (const path of controlGroups) writeFileSync(join(path, 'cgroup.procs'), String(process.pid))
}

async function measureQuestions(options: {
  own: OwnSystem
  groups(): ProcessGroups
  load: LoadProcess
  atRest: Pick<InstanceRun, 'idle' | 'questions'>
  task: LoadTask
}): Promise<LoadRun> {
  const { own, atRest, ...run } = options
  const asked = await countQuestions(own.servers)
  const measured = await measureLoad({ ...run, idle: atRest.idle })
  const questions = since(asked, await countQuestions(own.servers))
  const { seconds, posted } = measured
  const atRestMeanwhile = (name: string) => (atRest.questions[name] ?? 0) * seconds
  return {
    ...measured,
    questions: mapValues(questions, (count, name) => (count - atRestMeanwhile(name)) / posted),
  }
}

/** Processor time while nothing happens, and what the servers are asked a second. */
async function measureAtRest({ servers }: OwnSystem, groups: () => ProcessGroups) {
  const asked = await countQuestions(servers)
  const idle = await measureIdle(groups, IDLE_SECONDS)
  const questions = since(asked, await countQuestions(servers))
  return { idle, questions: mapValues(questions, (count) => count / IDLE_SECONDS) }
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

/** How many operations MongoDB and Redis have carried out since their start. */
async function countQuestions({ mongo, redis }: Pick<Servers, 'mongo' | 'redis'>) {
  return { MongoDB: await askedOfMongo(mongo.url), Redis: await askedOfRedis(redis.url) }
}

async function askedOfMongo(url: string): Promise<number> {
  const client = await mongoose.mongo.MongoClient.connect(url)
  try {
    const { opcounters } = counters.parse(await client.db('admin').command({ serverStatus: 1 }))
    return Object.values(opcounters).reduce((sum, count) => sum + count, 0)
  } finally {
    await client.close()
  }
}

async function askedOfRedis(url: string): Promise<number> {
  const client = new Redis(url)
  try {
    return Number(/^total_commands_processed:(\d+)/m.exec(await client.info('stats'))?.[1])
  } finally {
    client.disconnect()
  }
}
