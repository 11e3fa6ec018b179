// Writes configuration while the broker is down and while the service is killed, and holds its events against what is stored.
//   node tests/lab/scenarios/configuration-events.ts
import { setTimeout as pause } from 'node:timers/promises'
import { integer, parseConfig } from '@parley/shared/config'
import { CONFIGURATION_EXCHANGE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import { z } from 'zod'
import { closedLoop } from '../load/loops.ts'
import { seconds } from '../report/table.ts'
import { ALL_PERMISSIONS, callerIn, startServiceProcesses } from '../system/service-processes.ts'
import { accountVersions, type LoggedEvent } from '../verdict/events.ts'

const size = z.object({
  WRITES: integer({ min: 100, max: 100_000 }).default(1_000).describe('Writes in each of the two parts'),
  KILLS: integer({ min: 1, max: 20 }).default(3).describe('How often the service is killed'),
})
const DOCUMENTS = 100
/** Nothing is written after this one. */
const LAST = 1_000_000
const AT_A_TIME = 8
const WAIT_MS = 120_000
/** Outlives the broker. */
const QUEUE = 'events.check'

let serviceUrl = ''
const { WRITES, KILLS } = parseConfig(size, process.env)
const system = await startServiceProcesses({ name: 'events', inner: () => ALL_PERMISSIONS })
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
  const service = await system.startService('configuration', { LOG_LEVEL: 'fatal' })
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
  const authorization = () => ({
    authorization: `Bearer ${system.token('configuration', callerIn(workspace))}`,
  })
  const counts = { writes: 0, refused: 0, 'sent again': 0 }
  await closedLoop({
    workers: AT_A_TIME,
    goesOn: (count) => count < WRITES,
    async send(at) {
      for (;;) {
        const status = await write(at, authorization())
        if (status === undefined) counts['sent again']++
        else if (status === 200) counts.writes++
        else counts.refused++
        await interrupt(counts.writes)
        if (status !== undefined) break
        await pause(50)
      }
    },
  })
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
  const headers = { authorization: `Bearer ${system.token('configuration', callerIn(workspace))}` }
  if ((await write(LAST, headers)) !== 200) throw new Error('the last document was not written')
  const began = performance.now()
  const { url } = system.servers.rabbitmq
  const events = await takeEvents({ url, waitMs: WAIT_MS, workspace, last: LAST })
  const toldMs = performance.now() - began
  const versions = await versionsIn(workspace)
  const stored = [...versions].reduce((sum, [, version]) => sum + version, 0)
  return {
    stored,
    events: events.length,
    ...accountVersions(events, versions),
    'told after s': seconds(toldMs),
  }
}

async function versionsIn(workspace: number): Promise<Map<number, number>> {
  const steps = system.database('configuration').collection<{ _id: { id: number }; version: number }>('steps')
  const stored = await steps.find({ '_id.workspace': workspace } as object).toArray()
  return new Map(stored.map(({ _id, version }) => [_id.id, version]))
}

/** A queue that outlives the broker and gets every event; declared before there are any. */
async function retainEvents(url: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.bindQueue(QUEUE, CONFIGURATION_EXCHANGE, '#')
  await connection.close()
}

/** Takes a workspace's events up to the first one of document `last`; throws when it is not there in `waitMs`. */
async function takeEvents(options: {
  url: string
  waitMs: number
  workspace: number
  last: number
}): Promise<LoggedEvent[]> {
  const connection = await connect(options.url)
  const events: LoggedEvent[] = []
  try {
    const channel = await connection.createChannel()
    await new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error(`only ${events.length} events came in ${options.waitMs} ms`))
      const timer = setTimeout(late, options.waitMs)
      const taken = channel.consume(QUEUE, (message) => {
        if (message === null) return
        const text = message.content.toString()
        const { workspace, _id: id, version } = JSON.parse(text) as Record<string, number>
        channel.ack(message)
        if (workspace !== options.workspace || id === undefined || version === undefined) return
        events.push({ id, version, text })
        if (id !== options.last) return
        clearTimeout(timer)
        resolve()
      })
      taken.catch(reject)
    })
    await channel.close()
  } finally {
    await connection.close()
  }
  return events
}
