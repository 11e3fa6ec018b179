// How fast the one instance that audits goes through the log, and removes what is past its retention.

import { waitUntil } from '@parley/local/wait-until'
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
  const reached = async (share: number) => {
    let found = 0
    await until(async () => {
      found = await count()
      return found >= MESSAGES * share
    })
    return { found, at: performance.now() }
  }
  const [from, to] = [await reached(0.1), await reached(0.9)]
  return ((to.found - from.found) * 1_000) / (to.at - from.at)
}

async function until(check: () => Promise<boolean>): Promise<void> {
  if (!(await waitUntil(check, { timeoutMs: SILENCE_MS, intervalMs: CHECK_MS })))
    throw new Error('the auditor does not go on')
}
