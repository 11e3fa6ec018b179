// What the documents of threads cost the database that are written behind their messages, beside an upsert for each. Not
// one of `npm run bench`.
//   node deploy/local/bootstrap.mjs tests/bench/thread-writes.ts
import { randomUUID } from 'node:crypto'
import { threadId } from '@parley/dispatcher/message/thread-record'
import { type Collections, collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { type ThreadWrite, writeThreads } from '@parley/dispatcher/thread-log/write-threads'
import { startServers } from '@parley/local/servers/start-servers'
import mongoose from 'mongoose'
import { inTemporaryState } from '../dispatch/temporary-state.ts'
import { cpuSeconds } from './processes.ts'
import { median } from './results.ts'

const BATCH = 100
const BATCHES = 40
const RUNS = 3
const RETENTION_MS = 24 * 60 * 60 * 1_000

type Write = (threads: Collections['threads'], writes: ThreadWrite[]) => Promise<unknown>
const METHODS: Record<string, Write> = { 'as a batch': writeThreads, 'an upsert each': upsertEach }

const system = await inTemporaryState('bench', async ({ directory, stopLater }) => {
  const servers = await startServers({ directory, say: console.error })
  stopLater(servers.stop)
  const dbName = `bench_threads_${randomUUID().slice(0, 8)}`
  const connection = await mongoose.createConnection(servers.mongo.url, { dbName, w: 'majority' }).asPromise()
  stopLater(() => connection.close())
  await prepareDatabase(connection, 1)
  return { mongo: servers.mongo, threads: collectionsOf(connection).threads }
})
try {
  console.table(await measureAll())
} finally {
  await system.stop()
}

async function measureAll() {
  const spent = new Map<string, number[]>()
  for (let run = 0; run <= RUNS; run++) {
    for (const [method, write] of Object.entries(METHODS)) {
      const names = Array.from({ length: BATCH * BATCHES }, () => randomUUID())
      for (const kind of ['new', 'present']) {
        const row = `${kind}, ${method}`
        const micros = await measure(write, names)
        // The first run warms up.
        if (run > 0) spent.set(row, [...(spent.get(row) ?? []), micros])
      }
    }
  }
  return [...spent].map(([threads, runs]) => ({
    threads,
    'MongoDB µs each': Math.round(median(runs)),
    runs: runs.map(Math.round).join(' '),
  }))
}

/** Microseconds of the database's processor for each thread. */
async function measure(write: Write, names: string[]): Promise<number> {
  const before = cpuSeconds(system.mongo)
  for (let at = 0; at < names.length; at += BATCH)
    await write(system.threads, names.slice(at, at + BATCH).map(writeOf))
  return ((cpuSeconds(system.mongo) - before) * 1e6) / names.length
}

function writeOf(extId: string): ThreadWrite {
  const lastAt = new Date()
  return {
    workspace: 1,
    channel: 'line',
    extId,
    activity: {
      lastAt,
      lastMessage: 'Olá',
      addresses: ['phone:351910000000'],
      words: ['joao'],
      user: { name: 'João' },
    },
    lastInboundAt: lastAt,
    expiresAt: new Date(lastAt.getTime() + RETENTION_MS),
  }
}

function upsertEach(threads: Collections['threads'], writes: ThreadWrite[]): Promise<unknown> {
  const updates = writes.map(({ activity: { lastAt, ...said }, expiresAt, lastInboundAt, ...name }) => ({
    updateOne: {
      filter: { _id: threadId(name), lastAt: { $lte: lastAt } },
      update: {
        $set: { ...name, ...said, lastAt },
        $max: { expiresAt, lastInboundAt: lastInboundAt as Date },
        $setOnInsert: { handler: 'assistant' as const, unread: 0, openedAt: new Date() },
      },
      upsert: true,
    },
  }))
  return threads.bulkWrite(updates, { ordered: false })
}
