import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { cpuSeconds, residentMib, startDispatchSystem } from './dispatch-system.ts'
import { report } from './results.ts'
import { rateBetween } from './sink.ts'

const size = z.object({
  MESSAGES: integer({ min: 10_000, max: 1_000_000 }).default(200_000).describe('Messages in the backlog'),
  THREADS: integer({ min: 8, max: 100_000 }).default(2_000).describe('Threads they are of'),
})

const TENTHS = 10

/** How fast a backlog drains at its beginning and at its end. */
const { MESSAGES, THREADS } = parseConfig(size, process.env)
const system = await startDispatchSystem({ pinned: false })
try {
  const { sink } = system
  const threads = Array.from({ length: THREADS }, (_, n) => `thread-${n}`)
  console.error(`Queueing ${MESSAGES} messages …`)
  await system.fill({ messages: MESSAGES, threads, prefix: 'backlog' })
  const dispatcher = system.startDispatcher()
  const look = () => ({
    done: sink.count(),
    resident: residentMib(dispatcher.pid),
    cpu: cpuSeconds(dispatcher.pid),
    mongo: cpuSeconds(system.servers.mongo.pid ?? 0),
  })
  const looks = [look()]
  await sink.until(MESSAGES, () => {
    if (sink.count() >= (looks.length * MESSAGES) / TENTHS) looks.push(look())
  })
  looks[TENTHS] = look()
  const rates = Array.from({ length: TENTHS }, (_, n) =>
    rateBetween(sink.times(), n / TENTHS, (n + 1) / TENTHS),
  )
  const [first = 0, last = 0] = [rates[0], rates.at(-1)]
  report({
    row: `last tenth of a backlog of ${MESSAGES}, speed beside the first tenth`,
    parley: `${Math.round(last)}/s`,
    against: `${Math.round(first)}/s`,
    ratio: last / first,
    spread: [Math.min(...rates) / first, Math.max(...rates) / first],
    reach: { least: 0.8 },
  })
  console.log(`\n${MESSAGES} queued messages of ${THREADS} threads; doubled ${sink.doubled()}`)
  console.table(
    rates.map((rate, n) => ({
      part: `${n * TENTHS}–${(n + 1) * TENTHS}%`,
      'messages/s': Math.round(rate),
      'beside the first': (rate / (rates[0] ?? rate)).toFixed(2),
      ...used(looks[n], looks[n + 1]),
    })),
  )
} finally {
  await system.stop()
}

interface Look {
  done: number
  resident: number
  cpu: number
  mongo: number
}

/** What a message took of processors, which other programs on the machine change less than its speed. */
function used(from: Look | undefined, to: Look | undefined): object {
  if (from === undefined || to === undefined) return {}
  const micros = (seconds: number) => Math.round((seconds * 1e6) / (to.done - from.done))
  return {
    'CPU µs each': micros(to.cpu - from.cpu),
    'MongoDB µs each': micros(to.mongo - from.mongo),
    'resident MiB': to.resident,
  }
}
