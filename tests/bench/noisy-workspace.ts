// The other workspace of the fairness benchmark, in a thread of its own: its publications, its endpoint that answers at
// once, and its handler that never does.
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { listen } from '@parley/local/testing/service-under-test'
import { connect } from 'amqplib'
import { publishOne } from '../lab/load/publish.ts'
import { startSink } from '../lab/system/receivers.ts'

/** Publish so many messages at this rate; `extId` says to which channel. */
export interface NoiseRequest {
  prefix: string
  extId: string
  hasReply: boolean
  count: number
  aSecond: number
}

const TICK_MS = 10
const NOISY = 1

const connection = await connect(workerData.amqpUrl, { noDelay: true })
const channel = await connection.createConfirmChannel()
const sink = await startSink()
const hanging = await listen((req) => void req.resume())

parentPort?.on('message', async ({ prefix, extId, hasReply, count, aSecond }: NoiseRequest) => {
  const began = performance.now()
  for (let sent = 0; sent < count; ) {
    const due = Math.min(count, Math.floor(((performance.now() - began) / 1_000) * aSecond))
    for (; sent < due; sent++)
      publishOne(channel, { id: `${prefix}-${sent}`, workspace: NOISY, extId, hasReply })
    await pause(TICK_MS)
  }
  await channel.waitForConfirms()
  while (hasReply && sink.countOf(prefix) < count) await pause(100)
  parentPort?.postMessage('done')
})
parentPort?.postMessage({ sinkUrl: sink.url, hangingUrl: `${hanging.url}/handler` })
