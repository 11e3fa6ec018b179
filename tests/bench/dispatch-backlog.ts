import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { residentMib, startDispatchSystem } from './dispatch-system.ts'
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
  const resident: number[] = []
  await sink.until(MESSAGES, () => {
    const tenth = Math.floor((sink.count() * TENTHS) / MESSAGES)
    resident[tenth] ??= residentMib(dispatcher.pid)
  })
  const rates = Array.from({ length: TENTHS }, (_, n) =>
    rateBetween(sink.times(), n / TENTHS, (n + 1) / TENTHS),
  )
  console.log(`\n${MESSAGES} queued messages of ${THREADS} threads; doubled ${sink.doubled()}`)
  console.table(
    rates.map((rate, n) => ({
      part: `${n * TENTHS}–${(n + 1) * TENTHS}%`,
      'messages/s': Math.round(rate),
      'beside the first': (rate / (rates[0] ?? rate)).toFixed(2),
      'resident MiB': resident[n],
    })),
  )
} finally {
  await system.stop()
}
