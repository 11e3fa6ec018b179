// How long one workspace's messages take beside another one that makes trouble: a handler that hangs, and a flood.
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { integer, parseConfig } from '@parley/shared/config'
import { type ConfirmChannel, connect } from 'amqplib'
import { z } from 'zod'
import { publishOne } from '../lab/load/publish.ts'
import { quantile, report } from '../lab/report/results.ts'
import { channelTo, type DispatchSystem, startDispatchSystem } from '../lab/system/dispatch-system.ts'
import type { NoiseRequest } from './noisy-workspace.ts'

const size = z.object({
  FLOOD: integer({ min: 1_000, max: 1_000_000 }).default(20_000).describe('Messages of the flood'),
  FLOOD_A_SECOND: integer({ min: 100, max: 100_000 })
    .default(1_000)
    .describe('How fast it comes; the gateway lets 1,000 a second of one workspace through'),
  HANGING_A_SECOND: integer({ min: 1, max: 1_000 }).default(60).describe('Messages to a handler that hangs'),
  WARM_UP_SECONDS: integer({ min: 1, max: 60 }).default(10).describe('How long it runs beforehand'),
  SECONDS: integer({ min: 5, max: 600 }).default(60).describe('How long each part takes at least'),
})
const QUIET = 2
const QUIET_A_SECOND = 4

const { FLOOD, FLOOD_A_SECOND, HANGING_A_SECOND, WARM_UP_SECONDS, SECONDS } = parseConfig(size, process.env)
/** Where a server ends meanwhile, what is waited for does not come. */
const late = AbortSignal.timeout((WARM_UP_SECONDS + 6 * SECONDS + FLOOD / 50) * 1_000)
const urls = { noisySink: '', hanging: '' }
const system = await startDispatchSystem({
  pinned: false,
  channelOf: (url, sinkUrl) => {
    if (url.includes('hangs'))
      return { ...channelTo(sinkUrl), _id: 2, extId: 'hangs', handlerUrl: urls.hanging }
    return channelTo(url.includes('/workspaces/1/') ? urls.noisySink : sinkUrl)
  },
})
const amqpUrl = system.servers.rabbitmq.url
const noisy = new Worker(new URL('./noisy-workspace.ts', import.meta.url), { workerData: { amqpUrl } })
const [started] = await once(noisy, 'message')
urls.noisySink = started.sinkUrl
urls.hanging = started.hangingUrl
const connection = await connect(amqpUrl, { noDelay: true })
try {
  await measureAll(system, await connection.createConfirmChannel())
} finally {
  await noisy.terminate()
  await connection.close()
  await system.stop()
}

async function measureAll({ startDispatcher, sink }: DispatchSystem, channel: ConfirmChannel): Promise<void> {
  startDispatcher()
  const during = (name: string, meanwhile: Promise<unknown>) => measure({ channel, sink, name, meanwhile })
  await during('warm', pause(WARM_UP_SECONDS * 1_000))
  const before = await during('before', pause(SECONDS * 500))
  const hung = await during(
    'hung',
    makeNoise({
      extId: 'hangs',
      hasReply: false,
      aSecond: HANGING_A_SECOND,
      count: HANGING_A_SECOND * SECONDS,
    }),
  )
  // Messages that wait for the handler go on waiting beside this, too.
  const between = await during('between', pause(SECONDS * 500))
  const flooded = await during(
    'flooded',
    makeNoise({ extId: 'line', hasReply: true, aSecond: FLOOD_A_SECOND, count: FLOOD }),
  )
  const alone = before
  const parts = {
    alone,
    [`beside ${HANGING_A_SECOND}/s to a handler that hangs`]: hung,
    'beside those that wait for it': between,
    [`beside a flood of ${FLOOD} at ${FLOOD_A_SECOND}/s`]: flooded,
  }
  console.table(
    Object.entries(parts).map(([name, times]) => ({
      name,
      messages: times.length,
      'p50 ms': quantile(times, 0.5).toFixed(1),
      'p99 ms': quantile(times, 0.99).toFixed(1),
      'max ms': quantile(times, 1).toFixed(1),
    })),
  )
  reportSlowdown(`p99 beside ${HANGING_A_SECOND}/s to a handler that hangs`, hung, alone)
  reportSlowdown(`p99 beside a flood of ${FLOOD} at ${FLOOD_A_SECOND}/s`, flooded, alone)
}

/** Resolves when all of it was published, and called where it is answered. */
async function makeNoise(request: Omit<NoiseRequest, 'prefix'>): Promise<void> {
  noisy.postMessage({ ...request, prefix: `noisy-${request.extId}` } satisfies NoiseRequest)
  await once(noisy, 'message', { signal: late })
}

function reportSlowdown(row: string, loaded: number[], alone: number[]): void {
  const ratioAt = (share: number) => quantile(loaded, share) / quantile(alone, share)
  report({
    row,
    parley: `${quantile(loaded, 0.99).toFixed(1)} ms`,
    against: `${quantile(alone, 0.99).toFixed(1)} ms`,
    ratio: ratioAt(0.99),
    spread: [ratioAt(0.5), ratioAt(1)],
    reach: { most: 2 },
  })
}

/** How long each of the quiet workspace's messages took from its publication to its call, while `meanwhile` goes on. */
async function measure(options: {
  channel: ConfirmChannel
  sink: DispatchSystem['sink']
  name: string
  meanwhile: Promise<unknown>
}): Promise<number[]> {
  const { channel, sink, name, meanwhile } = options
  let over = false
  const ended = meanwhile.finally(() => (over = true))
  ended.catch(() => {})
  const published = new Map<string, number>()
  while (!over) {
    const id = `${name}-${published.size}`
    published.set(id, performance.now())
    publishOne(channel, { id, workspace: QUIET, extId: 'line', hasReply: true })
    await pause(1_000 / QUIET_A_SECOND)
  }
  await ended
  while (sink.countOf(`${name}-`) < published.size) await pause(50, undefined, { signal: late })
  const came = sink.received().filter(({ id }) => id.startsWith(`${name}-`))
  return came.map(({ id, at }) => at - (published.get(id.split(':')[0] ?? '') ?? Number.NaN))
}
