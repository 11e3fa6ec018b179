import { setTimeout as sleep } from 'node:timers/promises'
import { integer, parseConfig } from '@parley/shared/config'
import mongoose from 'mongoose'
import { z } from 'zod'
import { startBenchSystem } from './bench-system.ts'
import { closedLoop } from './closed-loop.ts'
import { median } from './results.ts'
import { taskBody } from './seed-tasks.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(3).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 256 }).default(32).describe('Requests under way at a time'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
})
/** A relay whose lease is taken stops when it next renews it. */
const RENEWAL_MS = 5_000

const { DURATION, CONNECTIONS, RUNS } = parseConfig(size, process.env)
const system = await startBenchSystem('costs')
const client = await mongoose.mongo.MongoClient.connect(system.mongo.url)
try {
  const db = client.db(system.mongo.database)
  const ours = await system.startConfiguration()
  const bare = await system.startScript('tests/bench/bare-express-mongoose.ts', {})
  const takeLease = async (_id: string) => {
    const change = { $set: { owner: 'bench', expiresAt: new Date(Date.now() + 86_400_000) } }
    await db.collection<{ _id: string }>('relays').updateOne({ _id }, change)
    await sleep(RENEWAL_MS)
  }
  const without: Record<string, () => Promise<unknown>> = {
    'with everything': () => Promise.resolve(),
    'without events': () => takeLease('events'),
    'and history': () => takeLease('history'),
    'and pre-images': () =>
      db.command({ collMod: 'tasks', changeStreamPreAndPostImages: { enabled: false } }),
    'and indexes for lists': () => db.collection('tasks').dropIndexes(),
  }
  const rows: Record<string, object> = {}
  await putsPerSecond(ours.url)
  await putsPerSecond(bare.url)
  for (const [name, remove] of Object.entries(without)) {
    await remove()
    const runs: { ours: number; bare: number }[] = []
    for (let count = 0; count < RUNS; count++) {
      runs.push({ ours: await putsPerSecond(ours.url), bare: await putsPerSecond(bare.url) })
    }
    rows[name] = {
      'PUTs/s': Math.round(median(runs.map((run) => run.ours))),
      'bare PUTs/s': Math.round(median(runs.map((run) => run.bare))),
      ratio: median(runs.map((run) => run.ours / run.bare)).toFixed(2),
    }
  }
  console.log(`\nPUT of one of 1,000 tasks, ${CONNECTIONS} connections, one feature less in each line`)
  console.table(rows)
} finally {
  await client.close()
  await system.stop()
}

async function putsPerSecond(url: string): Promise<number> {
  const authorization = `Bearer ${system.token(1)}`
  const { perSecond, failures } = await closedLoop({
    url,
    connections: CONNECTIONS,
    seconds: DURATION,
    headers: () => ({ authorization }),
    next: (at) => ({ method: 'PUT', path: `/rest/tasks/${1 + (at % 1_000)}`, body: taskBody }),
  })
  if (failures > 0) throw new Error(`${failures} PUTs failed`)
  return perSecond
}
