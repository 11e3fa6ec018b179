// How fast the one instance that audits goes through the log, and removes what is past its retention.

import { setTimeout as pause } from 'node:timers/promises'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { fill } from '../lab/load/publish.ts'
import { reportFigure } from '../lab/report/results.ts'
import { startDispatchSystem } from '../lab/system/dispatch-system.ts'
import { leaveLastCore } from '../lab/system/processes.ts'

const size = z.object({
  MESSAGES: integer({ min: 5_000, max: 1_000_000 }).default(30_000).describe('Messages in the log'),
})
const THREADS = Array.from({ length: 1_000 }, (_, n) => `thread-${n}`)
const CHECK_MS = 50
const SILENCE_MS = 90_000

const { MESSAGES } = parseConfig(size, process.env)
leaveLastCore()
const system = await startDispatchSystem({ pinned: true })
const { sink, database, messages } = system
const audited = database.collection('audited')
const countAudited = () => audited.estimatedDocumentCount()
try {
  await fill(system, { messages: MESSAGES, threads: THREADS, prefix: 'logged' })
  const first = system.startDispatcher()
  await sink.until(MESSAGES)
  await until(async () => (await countAudited()) === MESSAGES)
  await first.stop()
  await audited.deleteMany({})
  await database.collection('audit').deleteMany({})
  // Nothing else is left to do, so this is the audit alone.
  const reading = system.startDispatcher()
  const read = await measure(countAudited)
  await until(async () => (await countAudited()) === MESSAGES)
  await reading.stop()
  await messages.updateMany({}, { $set: { expiresAt: new Date(0) } })
  // It removes what is over when it begins, and then each half minute.
  const removing = system.startDispatcher()
  const removed = await measure(async () => MESSAGES - (await messages.estimatedDocumentCount()))
  await removing.stop()
  for (const [what, perSecond] of Object.entries({ 'read from the log': read, removed })) {
    console.log(`${Math.round(perSecond)} messages a second ${what}`)
    reportFigure({ row: `messages a second, ${what} by the auditor`, values: [perSecond], unit: '/s' })
  }
} finally {
  await system.stop()
}

/** How fast the count grows from a tenth of the messages to nine tenths. */
async function measure(count: () => Promise<number>): Promise<number> {
  const from = await until(async () => reached(await count(), 0.1))
  const to = await until(async () => reached(await count(), 0.9))
  return ((to.count - from.count) * 1_000) / (to.at - from.at)
}

function reached(count: number, share: number) {
  return count >= MESSAGES * share && { count, at: performance.now() }
}

/** Asks again and again until there is something; throws after a minute and a half. */
async function until<T>(ask: () => Promise<T | false>): Promise<T> {
  const last = performance.now() + SILENCE_MS
  for (;;) {
    const found = await ask()
    if (found !== false) return found
    if (performance.now() > last) throw new Error('the auditor does not go on')
    await pause(CHECK_MS)
  }
}
