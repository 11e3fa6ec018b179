// Measures the effect of a dead receiver for which 50,000 events wait, on messages and on another receiver.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Delivery, deliveryId, shardOf } from '@parley/dispatcher/message/delivery'
import { integer, parseConfig } from '@parley/shared/config'
import type { DocumentReplica } from '@parley/shared/config-replica/replica-store'
import { z } from 'zod'
import { fill } from '../lab/load/publish.ts'
import { rateBetween, reportComparison, shown } from '../lab/report/results.ts'
import { startDispatchSystem } from '../lab/system/dispatch-system.ts'
import { leaveLastCore } from '../lab/system/processes.ts'
import { startSink } from '../lab/system/receivers.ts'
import { ALL_PERMISSIONS } from '../lab/system/service-processes.ts'

const size = z.object({
  MESSAGES: integer({ min: 500, max: 1_000_000 }).default(10_000).describe('Messages of one run'),
  WAITING: integer({ min: 1, max: 1_000_000 })
    .default(50_000)
    .describe('Events that wait for the dead receiver'),
  RUNS: integer({ min: 1, max: 20 }).default(3).describe('Runs of each, in turns'),
  WARM_UPS: integer({ min: 0, max: 9 }).default(1).describe('Runs of each that are not counted, beforehand'),
})
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const CREATED = '2026-01-01T00:00:00.000Z'
const THREADS = Array.from({ length: 500 }, (_, n) => `thread-${n}`)
const BATCH = 5_000
/** The workspace of the messages, and that of the dead receiver. */
const [LIVE, DEAD] = [1, 2]
const account = { _id: 1, username: 'a', name: 'a', profile: 1, context: {} }

const { MESSAGES, WAITING, RUNS, WARM_UPS } = parseConfig(size, process.env)
leaveLastCore()
const dead = createServer(() => undefined)
await new Promise<void>((resolve) => dead.listen(0, '127.0.0.1', resolve))
const receiver = await startSink()
const system = await startDispatchSystem({ pinned: true, documentOf })
const deliveries = system.database.collection<Delivery>('deliveries')
let runs = 0
try {
  await subscribe(LIVE, receiver.url)
  const rows: Record<'alone' | 'withDead', Awaited<ReturnType<typeof measure>>[]> = {
    alone: [],
    withDead: [],
  }
  for (let run = 1 - WARM_UPS; run <= RUNS; run++) {
    for (const kind of ['alone', 'withDead'] as const) {
      if (kind === 'withDead') await letWait()
      const measured = await measure()
      await forgetDead()
      if (run > 0) rows[kind].push(measured)
    }
  }
  print(rows)
} finally {
  await system.stop()
  await receiver.close()
  dead.closeAllConnections()
  dead.close()
}

/** Returns the document that identity and configuration answer with. */
function documentOf(url: string): object {
  if (url.startsWith('/internal/subscriptions')) return { data: [] }
  if (url.startsWith('/internal/roles')) return ALL_PERMISSIONS
  if (!url.startsWith('/internal/callers')) return {}
  const _id = Number(url.split('/').at(-1))
  const workspace = { _id, name: '', namespace: '', host: '' }
  return { account: { ...account, _id }, workspace, role: { _id: 1, name: 'ADMIN', version: 1 } }
}

async function subscribe(workspace: number, url: string): Promise<void> {
  const document = {
    ...{ _id: 1, name: '', url, events: ['message.delivered'], active: true, signingSecret: SECRET },
    ...{ account: workspace, createdAt: CREATED, activeSince: CREATED, updatedAt: CREATED },
  }
  const _id = `subscriptions/${workspace}/1`
  const named = { resource: 'subscriptions' as const, workspace, id: 1, version: 1, storedAt: new Date() }
  await system.database
    .collection<DocumentReplica>('configured')
    .replaceOne({ _id }, { ...named, document: JSON.stringify(document) }, { upsert: true })
}

async function letWait(): Promise<void> {
  const subscription = `${DEAD}/1/${Date.parse(CREATED)}`
  await subscribe(DEAD, `http://127.0.0.1:${(dead.address() as AddressInfo).port}/`)
  const payload = JSON.stringify({ type: 'message.delivered', data: { text: 'x'.repeat(1_000) } })
  for (let from = 0; from < WAITING; from += BATCH)
    await deliveries.insertMany(
      Array.from(
        { length: Math.min(BATCH, WAITING - from) },
        (_, at): Delivery => ({
          ...{
            _id: deliveryId(subscription, `messages/${from + at}`, 'x'),
            subscription,
            shard: shardOf(subscription),
          },
          ...{
            workspace: DEAD,
            event: 'message.delivered',
            record: `messages/${from + at}`,
            line: `thread/${at}`,
          },
          ...{ order: from + at, state: 'pending', fresh: true, tries: 0, attempts: [], payload },
          ...{ createdAt: new Date(), expiresAt: new Date(Date.now() + 3_600_000) },
        }),
      ),
    )
}

async function forgetDead(): Promise<void> {
  await deliveries.deleteMany({ workspace: DEAD })
  await system.database
    .collection<DocumentReplica>('configured')
    .deleteOne({ _id: `subscriptions/${DEAD}/1` })
}

/** Everything is queued before the dispatcher starts; messages and events a second, from a tenth to nine tenths. */
async function measure(): Promise<{ messages: number; events: number }> {
  system.sink.forget()
  receiver.forget()
  await fill(system, { messages: MESSAGES, threads: THREADS, prefix: `events-${runs++}` })
  const runner = system.startDispatcher()
  await system.sink.until(MESSAGES)
  await receiver.until(MESSAGES)
  await pause(500)
  await runner.stop()
  return {
    messages: rateBetween(system.sink.times(), 0.1, 0.9),
    events: rateBetween(receiver.times(), 0.1, 0.9),
  }
}

function print({
  alone,
  withDead,
}: Record<'alone' | 'withDead', { messages: number; events: number }[]>): void {
  const of = (all: typeof alone, key: 'messages' | 'events') => all.map((one) => one[key])
  const show = (values: number[]) => shown(values, { unit: '/s' })
  const aims = { messages: 0.97, events: 0.9 }
  for (const key of ['messages', 'events'] as const)
    reportComparison({
      row: `${key} beside ${WAITING} events for a dead receiver, and without`,
      ...{ ours: of(withDead, key), others: of(alone, key), unit: '/s', reach: { least: aims[key] } },
    })
  console.table(
    Object.entries({ alone, withDead }).map(([name, all]) => ({
      name,
      'messages/s': show(of(all, 'messages')),
      'messages runs': of(all, 'messages').map(Math.round).join(' '),
      'events/s': show(of(all, 'events')),
      'events runs': of(all, 'events').map(Math.round).join(' '),
    })),
  )
}
