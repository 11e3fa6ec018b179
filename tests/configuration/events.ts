import { setTimeout as sleep } from 'node:timers/promises'
import { integer, parseConfig } from '@parley/shared/config'
import mongoose from 'mongoose'
import { z } from 'zod'
import { startBenchSystem } from '../bench/bench-system.ts'
import { account, retainEvents, takeEvents } from './event-log.ts'

const size = z.object({
  WRITES: integer({ min: 100, max: 100_000 }).default(1_000).describe('Writes in each of the two parts'),
  KILLS: integer({ min: 1, max: 20 }).default(3).describe('How often the service is killed'),
})
const DOCUMENTS = 100
/** Nothing is written after this one. */
const LAST = 1_000_000
const AT_A_TIME = 8
const WAIT_MS = 120_000

let serviceUrl = ''
const { WRITES, KILLS } = parseConfig(size, process.env)
const system = await startBenchSystem('events')
try {
  await retainEvents(system.servers.rabbitmq.url)
  const rows = { 'broker down': await withBrokerDown(1), 'kill -9': await withKills(2) }
  console.table(rows)
  for (const row of Object.values(rows)) {
    if (row.lost + row.invented + row.misplaced + row.refused > 0) process.exitCode = 1
  }
} finally {
  await system.stop()
}

async function startService() {
  const service = await system.startConfiguration()
  serviceUrl = service.url
  return service
}

/** Writes while there is no broker; the events must come when it is back. */
async function withBrokerDown(workspace: number) {
  const service = await startService()
  const broker = system.servers.rabbitmq
  if (broker.pid === undefined) throw new Error('the broker is not ours to kill')
  process.kill(broker.pid, 'SIGKILL')
  await broker.exited
  const written = await writeAll(workspace, async () => false)
  await broker.restart()
  if (written['sent again'] > 0)
    throw new Error('writes had to be sent again though only the broker was down')
  const row = { kills: 0, ...written, ...(await accountFor(workspace)) }
  await service.stop()
  return row
}

/** Kills the service in the middle of writing, several times; what got no answer is sent again. */
async function withKills(workspace: number) {
  let service = await startService()
  let kills = 0
  const written = await writeAll(workspace, async (confirmed) => {
    if (kills === KILLS || confirmed < ((kills + 1) * WRITES) / (KILLS + 1)) return false
    kills++
    await service.stop('SIGKILL')
    service = await startService()
    return true
  })
  return { kills, ...written, ...(await accountFor(workspace)) }
}

/** PUTs, PATCHes and DELETEs over 100 documents; `interrupt` is asked after each answer. */
async function writeAll(workspace: number, interrupt: (confirmed: number) => Promise<boolean>) {
  const authorization = () => ({ authorization: `Bearer ${system.token(workspace)}` })
  const counts = { writes: 0, refused: 0, 'sent again': 0 }
  let next = 0
  const work = async () => {
    while (next < WRITES) {
      const at = next++
      for (;;) {
        const status = await write(at, authorization())
        if (status === undefined) counts['sent again']++
        else if (status === 200) counts.writes++
        else counts.refused++
        await interrupt(counts.writes)
        if (status !== undefined) break
        await sleep(50)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return counts
}

/** The answer's status; undefined when none came, or 503 (the service is only starting). A write that is sent again may find its document deleted. */
async function write(at: number, headers: Record<string, string>): Promise<number | undefined> {
  const id = at === LAST ? LAST : 1 + (at % DOCUMENTS)
  const method = at !== LAST && at % 7 === 6 ? 'DELETE' : 'PUT'
  const body = { name: `${at}`, description: '', instructions: '', submitWhen: '', next: null, job: null }
  try {
    const answer = await fetch(`${serviceUrl}/rest/steps/${id}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(method === 'PUT' ? { body: JSON.stringify(body) } : {}),
    })
    await answer.arrayBuffer()
    if (answer.status === 503) return undefined
    return answer.status === 404 && method === 'DELETE' ? 200 : answer.status
  } catch {
    return undefined
  }
}

/** Writes a last document, waits for its event, and holds all that came before it against the database. */
async function accountFor(workspace: number) {
  const headers = { authorization: `Bearer ${system.token(workspace)}` }
  if ((await write(LAST, headers)) !== 200) throw new Error('the last document was not written')
  const began = performance.now()
  const { url } = system.servers.rabbitmq
  const events = await takeEvents({ url, waitMs: WAIT_MS, workspace, last: LAST })
  const seconds = Number(((performance.now() - began) / 1_000).toFixed(1))
  const versions = await versionsIn(workspace)
  const stored = [...versions].reduce((sum, [, version]) => sum + version, 0)
  return { stored, events: events.length, ...account(events, versions), 'told after s': seconds }
}

async function versionsIn(workspace: number): Promise<Map<number, number>> {
  const client = await mongoose.mongo.MongoClient.connect(system.mongo.url)
  const steps = client.db(system.mongo.database).collection<{ _id: { id: number }; version: number }>('steps')
  const stored = await steps.find({ '_id.workspace': workspace }).toArray()
  await client.close()
  return new Map(stored.map(({ _id, version }) => [_id.id, version]))
}
