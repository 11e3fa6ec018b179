// What it costs to write the progress of one send, by how many sends its message has. Not one of `npm run bench`.
//   node deploy/local/bootstrap.mjs tests/bench/send-costs.ts
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  advanced,
  type MessageRecord,
  type Progress,
  type Send,
} from '@parley/dispatcher/message/message-record'
import { claimed, settledSend } from '@parley/dispatcher/message/progress'
import type { Collections } from '@parley/dispatcher/store/collections'
import { createCommitter } from '@parley/dispatcher/store/commit'
import { startServers } from '@parley/local/servers/start-servers'
import mongoose from 'mongoose'
import { cpuSeconds } from './processes.ts'

const NUMBERS = [1, 5, 20, 50]
const SENDS = 2_000
const directory = await mkdtemp(join(tmpdir(), 'parley-bench-'))
const servers = await startServers({ directory, say: console.error })
const client = await mongoose.mongo.MongoClient.connect(servers.mongo.url)
const database = client.db(`bench_sends_${randomUUID().slice(0, 8)}`)
const messages = database.collection('messages') as unknown as Collections['messages']
const committer = createCommitter(messages, 'bench')
try {
  await measure(5)
  const rows = []
  for (const number of NUMBERS) rows.push(await measure(number))
  console.table(rows)
} finally {
  await database.dropDatabase()
  await client.close()
  await servers.stop()
  await rm(directory, { recursive: true, force: true })
}

async function measure(number: number) {
  const records = Array.from({ length: Math.ceil(SENDS / number) }, () => recordOf(number))
  await messages.insertMany(records)
  const used = () => ({ own: process.cpuUsage(), mongo: cpuSeconds(servers.mongo) })
  const [before, began] = [used(), performance.now()]
  await Promise.all(records.map(sendAll))
  const [after, took] = [used(), performance.now() - began]
  const count = records.length * number
  const own = after.own.user + after.own.system - before.own.user - before.own.system
  return {
    sends: number,
    'CPU µs each send': Math.round(own / count),
    'MongoDB µs each send': Math.round(((after.mongo - before.mongo) * 1e6) / count),
    'ms each send': (took / count).toFixed(2),
  }
}

/** Claims and settles each send in turn, as a run does. */
async function sendAll(record: MessageRecord): Promise<void> {
  let current = record
  const write = async (progress: Progress) => {
    if (!(await committer.commit(current, progress))) throw new Error('somebody else has written')
    current = advanced(current, progress)
  }
  for (const index of record.sends.keys()) {
    await write(claimed(current, { index, at: Date.now() }))
    const attempt = { at: new Date(), step: `${record._id}:${index}`, outcome: 'accepted', ms: 1 } as const
    const settlement = { kind: 'settled', delivered: true } as const
    await write(settledSend(current, { index, settlement, attempt, at: Date.now(), retentionMs: 1_000 }))
  }
}

function recordOf(number: number): MessageRecord {
  const _id = randomUUID()
  const at = new Date()
  return {
    _id,
    workspace: 1,
    partition: 0,
    thread: _id,
    order: 1,
    revision: 1,
    channel: 'c',
    source: 'api',
    state: 'handled',
    open: true,
    tries: 0,
    receivedAt: at,
    updatedAt: at,
    body: 'x'.repeat(500),
    answer: 'x'.repeat(number * 100),
    sends: Array.from({ length: number }, (_, n): Send => {
      const content = { kind: 'function', name: 'refund', position: n } as const
      return { id: `${_id}:${n}`, content, state: 'pending' }
    }),
    timeline: [{ at, state: 'received' }],
    attempts: [],
  }
}
