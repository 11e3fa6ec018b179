import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { fill } from '../lab/load/publish.ts'
import { rateBetween, reportComparison } from '../lab/report/results.ts'
import { startDispatchSystem } from '../lab/system/dispatch-system.ts'
import { cpuSeconds, leaveLastCore, type Runner } from '../lab/system/processes.ts'

const size = z.object({
  MESSAGES: integer({ min: 1_000, max: 1_000_000 }).default(100_000).describe('Messages of one run'),
  RUNS: integer({ min: 1, max: 20 }).default(3).describe('Runs of each, in turns'),
  WARM_UPS: integer({ min: 0, max: 9 }).default(1).describe('Runs of each that are not counted, beforehand'),
  PROFILE: z.string().optional().describe('A folder for CPU profiles of the dispatcher'),
})

interface Measured {
  perSecond: number
  /** Of the process, and of the database beside it. */
  cpuMicros: number
  mongoMicros: number
  doubled: number
}

interface Kind {
  start(): Runner
  logged: boolean
}

const THREADS = Array.from({ length: 1_000 }, (_, n) => `thread-${n}`)
const { MESSAGES, RUNS, WARM_UPS, PROFILE } = parseConfig(size, process.env)
leaveLastCore()
const system = await startDispatchSystem({ pinned: true })
let count = 0
try {
  const profile = PROFILE === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${PROFILE}`]
  const kinds: Record<string, Kind> = {
    'the dispatcher': { start: () => system.startDispatcher({}, profile), logged: true },
    // Messages that it acks are stored nowhere, which would count as lost.
    'bare amqplib consume, POST, ack': {
      start: () => system.startScript('bare-amqplib-post.ts'),
      logged: false,
    },
  }
  const runs = new Map<string, Measured[]>(Object.keys(kinds).map((name) => [name, []]))
  for (let run = 1 - WARM_UPS; run <= RUNS; run++) {
    for (const [name, kind] of Object.entries(kinds)) {
      const measured = await measure(kind)
      if (run > 0) runs.get(name)?.push(measured)
    }
  }
  print(runs)
} finally {
  await system.stop()
}

/** Everything is queued before the process starts; counted is from the tenth of the messages to the last tenth. */
async function measure({ start, logged }: Kind): Promise<Measured> {
  const { sink } = system
  sink.forget()
  await fill(system, { messages: MESSAGES, threads: THREADS, prefix: `run-${count++}`, logged })
  const runner = start()
  const used = () => ({ cpu: cpuSeconds(runner), mongo: cpuSeconds(system.servers.mongo) })
  let before = { cpu: 0, mongo: 0, done: 0 }
  await sink.until(MESSAGES, () => {
    if (before.done === 0 && sink.count() > MESSAGES / 10) before = { ...used(), done: sink.count() }
  })
  const after = used()
  await runner.stop()
  const micros = (seconds: number) => (seconds * 1e6) / (MESSAGES - before.done)
  return {
    perSecond: rateBetween(sink.times(), 0.1, 0.9),
    cpuMicros: micros(after.cpu - before.cpu),
    mongoMicros: micros(after.mongo - before.mongo),
    doubled: sink.doubled(),
  }
}

function print(runs: Map<string, Measured[]>): void {
  const speeds = (name: string) => (runs.get(name) ?? []).map(({ perSecond }) => perSecond)
  const [ours, bare] = [speeds('the dispatcher'), speeds('bare amqplib consume, POST, ack')]
  reportComparison({
    row: 'dispatch, beside bare amqplib consume → POST → ack',
    ...{ ours, others: bare, unit: '/s', reach: { least: 0.5 } },
  })

  const medians = new Map([...runs].map(([name, all]) => [name, median(all)]))
  const mine = medians.get('the dispatcher')?.perSecond ?? 0
  console.log(`\n${MESSAGES} queued messages to an endpoint that answers at once, median of ${RUNS} runs`)
  console.table(
    [...medians].map(([name, { perSecond, cpuMicros, mongoMicros }]) => ({
      name,
      'messages/s': Math.round(perSecond),
      runs: runs
        .get(name)
        ?.map((one) => Math.round(one.perSecond))
        .join(' '),
      'CPU µs each': Math.round(cpuMicros),
      'MongoDB µs each': Math.round(mongoMicros),
      doubled: runs.get(name)?.reduce((sum, one) => sum + one.doubled, 0),
      'ours beside it': (mine / perSecond).toFixed(2),
    })),
  )
}

function median(all: Measured[]): Measured {
  const middle = all.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(all.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
