import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { buildApp } from '@parley/dispatcher/app'
import { config } from '@parley/dispatcher/config'
import type { PartitionLease } from '@parley/dispatcher/store/collections'
import { type LayoutRecord, readLayout } from '@parley/dispatcher/store/layout-record'
import { CHECKOUT } from '@parley/local/checkout'
import { listen, makeServiceKeys, startService } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { freshDatabase, releaseDatabase, testServers } from '@parley/local/testing/test-servers'
import { partitionOfSlot, slotOf } from '@parley/shared/messaging/layout'
import { connect } from 'amqplib'
import mongoose from 'mongoose'
import { channelTo, dispatcherEnvironment } from './dispatch-system.ts'
import { startProcesses } from './processes.ts'

/** A call as the endpoint saw it; milliseconds. */
export interface ObservedCall {
  messageId: string
  thread: string
  began: number
  ended: number
}

/** Instances of the dispatcher, as processes or in this one, and an endpoint that writes down every call. */
export async function startDispatcherInstances() {
  const { mongoUrl, amqpUrl, redisUrl } = await testServers()
  const database = freshDatabase('dispatcher')
  const calls: ObservedCall[] = []
  const responding = { ms: 30 }
  const endpoint = await listen((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => {
      text += chunk
    })
    req.on('end', async () => {
      const began = performance.now()
      const { messageId, thread } = JSON.parse(text) as { messageId: string; thread: { extId: string } }
      const call: ObservedCall = { messageId, thread: thread.extId, began, ended: Number.POSITIVE_INFINITY }
      calls.push(call)
      await pause(responding.ms)
      call.ended = performance.now()
      res.writeHead(200).end('{}')
    })
  })
  const inner = await listen((req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(req.url?.includes('/channels') ? { data: [channelTo(endpoint.url)] } : {}))
  })
  const environment = dispatcherEnvironment({ mongoUrl, amqpUrl, redisUrl, database, innerUrl: inner.url })
  const client = await mongoose.mongo.MongoClient.connect(mongoUrl)
  const leases = client.db(database).collection<PartitionLease>('partitions')
  const layouts = client.db(database).collection<LayoutRecord>('layouts')
  const connection = await connect(amqpUrl)
  const channel = await connection.createConfirmChannel()
  const processes = startProcesses()
  return {
    calls,
    /** How long the endpoint takes for a call. */
    responding,
    /** Starts an instance in this process, and waits until it is ready. */
    startHere: () =>
      startService({ name: 'dispatcher', config, build: buildApp, keys: makeServiceKeys(), environment }),
    /** Starts an instance as a process. */
    startProcess: (own: Record<string, string> = {}) =>
      processes.run(process.execPath, [join(CHECKOUT, 'services/dispatcher/src/server.ts')], {
        ...environment,
        ...own,
      }),
    /** Starts the command that changes the number of partitions. */
    startChange: (partitions: number) =>
      processes.run(
        process.execPath,
        [join(CHECKOUT, 'services/dispatcher/src/change-partitions.ts'), `${partitions}`],
        environment,
      ),
    layout: () => readLayout(layouts),
    /** To publish messages by. */
    channel,
    /** The partitions of each instance whose lease has not run out. */
    async owners(): Promise<Map<string, number[]>> {
      const leased = await leases
        .find({ owner: { $ne: null }, $expr: { $gt: ['$expiresAt', '$$NOW'] } })
        .toArray()
      const byOwner = Map.groupBy(leased, ({ owner }) => owner ?? '')
      return new Map([...byOwner].map(([owner, all]) => [owner, all.map(({ _id }) => _id)]))
    },
    async close() {
      await processes.stop('SIGKILL')
      await connection.close()
      await endpoint.close()
      await inner.close()
      await releaseDatabase(client.db(database))
      await client.close()
    },
  }
}

export type DispatcherInstances = Awaited<ReturnType<typeof startDispatcherInstances>>

/** How many partitions each of `instances` leases when the shares are even, the largest first. */
export function evenShares(instances: number): number[] {
  return Array.from({ length: instances }, (_, n) =>
    Math.floor((TEST_LAYOUT.partitions + instances - 1 - n) / instances),
  )
}

/** The partition of one of the test's threads. */
export const partitionOfThread = (thread: string): number => partitionOfSlot(slotOf(1, thread), TEST_LAYOUT)

/** Pairs of calls within one thread that were under way at the same time. */
export function overlaps(calls: ObservedCall[]): Array<[ObservedCall, ObservedCall]> {
  return [...Map.groupBy(calls, ({ thread }) => thread).values()].flatMap((ofThread) => {
    const byStart = ofThread.toSorted((a, b) => a.began - b.began)
    return byStart.flatMap((call, index): Array<[ObservedCall, ObservedCall]> => {
      const next = byStart[index + 1]
      return next !== undefined && next.began < call.ended ? [[call, next]] : []
    })
  })
}
