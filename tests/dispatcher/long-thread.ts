import { setTimeout as pause } from 'node:timers/promises'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { startDispatchSystem } from '../bench/dispatch-system.ts'
import { residentMib } from '../bench/processes.ts'

const size = z.object({
  MESSAGES: integer({ min: 1_000, max: 1_000_000 }).default(100_000).describe('Messages of the one thread'),
  OTHERS: integer({ min: 1, max: 10_000 }).default(500).describe('Messages of other threads, one for each'),
  SECONDS: integer({ min: 1, max: 3_600 }).default(20).describe('How long to watch, once all is stored'),
})

const STORED_MS = 600_000
const OTHERS_TIMEOUT_MS = 120_000
const LONG = 'long'

/** One thread with very many messages: how much memory it takes, and whether it holds up other threads. */
const { MESSAGES, OTHERS, SECONDS } = parseConfig(size, process.env)
const system = await startDispatchSystem({ pinned: false })
const rows: object[] = []
let most = 0
try {
  const { sink, messages } = system
  await system.fill({ messages: 1_000, threads: many('warm', 100), prefix: 'warm' })
  const dispatcher = system.startDispatcher()
  await sink.until(1_000)
  const look = (when: string) => {
    const resident = residentMib(dispatcher)
    most = Math.max(most, resident)
    rows.push({ when, 'resident MiB': resident, 'of the long thread done': sink.countOf(LONG) })
  }
  look('1,000 messages of other threads done')
  await system.fill({ messages: MESSAGES, threads: [LONG], prefix: LONG })
  look('all published')
  const latencies = await others('storing')
  await untilStored()
  look('all stored')
  const later = await others('running')
  const until = performance.now() + SECONDS * 1_000
  while (performance.now() < until) {
    await pause(1_000)
    most = Math.max(most, residentMib(dispatcher))
  }
  look(`${SECONDS} s later`)
  report({ 'while it is stored': latencies, 'while it runs': later }, sink.doubled())
  async function untilStored(): Promise<void> {
    const deadline = performance.now() + STORED_MS
    while ((await messages.countDocuments({ thread: LONG } as object)) < MESSAGES) {
      if (performance.now() > deadline) throw new Error('not all were stored')
      most = Math.max(most, residentMib(dispatcher))
      await pause(500)
    }
  }
} finally {
  await system.stop()
}

function many(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`)
}

/** How long messages of other threads take, from before they are published until they arrive, in milliseconds. */
async function others(prefix: string): Promise<number[]> {
  const { sink } = system
  const began = performance.now()
  const before = sink.times().length
  await system.fill({ messages: OTHERS, threads: many(prefix, OTHERS), prefix })
  const times: number[] = []
  while (sink.countOf(`${prefix}-`) < OTHERS) {
    if (performance.now() - began > OTHERS_TIMEOUT_MS) throw new Error('the other threads were held up')
    await pause(20)
  }
  for (const { id, at } of sink.received().slice(before)) if (id.startsWith(prefix)) times.push(at - began)
  return times.toSorted((a, b) => a - b)
}

function report(latencies: Record<string, number[]>, doubled: number): void {
  console.log(`\n${MESSAGES} messages of one thread; at most ${most} MiB resident; doubled ${doubled}`)
  console.table(rows)
  console.log(`\n${OTHERS} messages of as many other threads, published at once`)
  console.table(
    Object.entries(latencies).map(([when, times]) => ({
      when,
      'p50 ms': Math.round(times[Math.floor(times.length / 2)] ?? 0),
      'last ms': Math.round(times.at(-1) ?? 0),
    })),
  )
}
