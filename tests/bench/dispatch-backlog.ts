import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { fill } from '../lab/load/publish.ts'
import { rateBetween, report, reportComparison } from '../lab/report/results.ts'
import { startDispatchSystem } from '../lab/system/dispatch-system.ts'
import { cpuSeconds, residentMib } from '../lab/system/processes.ts'

const size = z.object({
  MESSAGES: integer({ min: 10_000, max: 1_000_000 }).default(500_000).describe('Messages in the backlog'),
  THREADS: integer({ min: 8, max: 100_000 }).default(2_000).describe('Threads they are of'),
})

const TENTHS = 10

const { MESSAGES, THREADS } = parseConfig(size, process.env)
const threads = Array.from({ length: THREADS }, (_, n) => `thread-${n}`)
const system = await startDispatchSystem({ pinned: false })
const { sink } = system
try {
  const tenth = await drain(MESSAGES / TENTHS)
  const whole = await drain(MESSAGES)
  const [first = 0, last = 0] = [whole.rates[0], whole.rates.at(-1)]
  report({
    row: `last tenth of a backlog of ${MESSAGES}, speed beside the first tenth`,
    parley: `${Math.round(last)}/s`,
    against: `${Math.round(first)}/s`,
    ratio: last / first,
    spread: [Math.min(...whole.rates) / first, Math.max(...whole.rates) / first],
    reach: { least: 0.8 },
  })
  reportComparison({
    row: `drain of a backlog of ${MESSAGES}, speed beside a tenth of it`,
    ...{ ours: [whole.perSecond], others: [tenth.perSecond], unit: '/s', reach: { least: 0.85 } },
  })
  console.log(`\n${MESSAGES} queued messages of ${THREADS} threads, ${Math.round(whole.perSecond)}/s in all`)
  console.log(`${MESSAGES / TENTHS} of them alone: ${Math.round(tenth.perSecond)}/s`)
  console.table(whole.table)
} finally {
  await system.stop()
}

/** Queues so many messages, then starts a dispatcher and watches how fast they get to where they are sent. */
async function drain(messages: number) {
  console.error(`Queueing ${messages} messages …`)
  sink.forget()
  await fill(system, { messages, threads, prefix: `backlog-${messages}` })
  const dispatcher = system.startDispatcher()
  const look = () => ({
    done: sink.count(),
    resident: residentMib(dispatcher),
    cpu: cpuSeconds(dispatcher),
    mongo: cpuSeconds(system.servers.mongo),
  })
  const looks = [look()]
  await sink.until(messages, () => {
    if (sink.count() >= (looks.length * messages) / TENTHS) looks.push(look())
  })
  looks[TENTHS] = look()
  await dispatcher.stop()
  if (sink.doubled() > 0) throw new Error(`${sink.doubled()} messages came more than once`)
  const rates = Array.from({ length: TENTHS }, (_, n) =>
    rateBetween(sink.times(), n / TENTHS, (n + 1) / TENTHS),
  )
  const table = rates.map((rate, n) => ({
    part: `${n * TENTHS}–${(n + 1) * TENTHS}%`,
    'messages/s': Math.round(rate),
    'beside the first': (rate / (rates[0] ?? rate)).toFixed(2),
    ...used(looks[n], looks[n + 1]),
  }))
  return { rates, table, perSecond: rateBetween(sink.times(), 0, 1) }
}

interface Look {
  done: number
  resident: number
  cpu: number
  mongo: number
}

/** Returns the processor time for each message, which other programs on the machine change less than its speed. */
function used(from: Look | undefined, to: Look | undefined): object {
  if (from === undefined || to === undefined) return {}
  const micros = (seconds: number) => Math.round((seconds * 1e6) / (to.done - from.done))
  return {
    'CPU µs each': micros(to.cpu - from.cpu),
    'MongoDB µs each': micros(to.mongo - from.mongo),
    'resident MiB': to.resident,
  }
}
