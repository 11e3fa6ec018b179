// Restarts every instance of every service behind the gateway under load, and counts what failed.
//   npm run test:rolling
//   npm run test:rolling -- --from COMMIT    it starts with the code of that commit, and restarts with this one
//   npm run test:rolling -- --partitions     changes the number of partitions instead, twice and back
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { postThreads } from '@parley/local/demo/post-threads'
import { isReconciled, percentile, reconcile } from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { connectRpc, planThread } from '../dispatch/lines.ts'
import { startOwnSystem } from '../dispatch/own-system.ts'
import { startRpcSink } from '../dispatch/received-messages.ts'
import { registerWorkspace } from '../dispatch/workspace.ts'
import { changePartitions } from './change-partitions.ts'
import { type EarlierCheckout, extractCheckout } from './earlier-checkout.ts'
import { restartEach } from './restart-each.ts'
import { startReads } from './steady-reads.ts'

const size = z.object({
  RATE: integer({ min: 1, max: 2_000 }).default(300).describe('Messages a second'),
  READS: integer({ min: 1, max: 2_000 }).default(100).describe('Reads a second'),
  COPIES: integer({ min: 2, max: 4 }).default(2).describe('Instances of each service'),
})
const { RATE, READS, COPIES: count } = parseConfig(size, process.env)

const IN_FLIGHT = 256
const PER_THREAD = 20
// At the end: what was posted last gets there, and the gateway sees the last instance again.
const CALM_MS = 2_000
const ARRIVED_MS = 60_000
const say = (line: string) => console.error(line)

// As in production, where whoever shares out the requests must notice first.
process.env.DRAIN_SECONDS = '3'
const instances = { identity: count, webhook: count, configuration: count, dispatcher: count }
const { from, partitions } = parseArgs({
  options: { from: { type: 'string' }, partitions: { type: 'boolean' } },
}).values
let earlier: EarlierCheckout | undefined
const own = await startOwnSystem({
  instances,
  say,
  ...(from === undefined
    ? {}
    : {
        checkoutIn: async (directory) => {
          earlier = await extractCheckout({ commit: from, directory })
          return earlier
        },
      }),
})
const sink = await startRpcSink()
try {
  process.exitCode = (await run()) ? 0 : 1
} finally {
  await own.stop()
  await sink.close()
}

async function run(): Promise<boolean> {
  const workspace = await registerWorkspace(own.system.gatewayUrl, 'rolling')
  await connectRpc({ workspace, callbackUrl: sink.url, id: 1 })
  let stopped = false
  const threads = (function* () {
    for (let thread = 0; !stopped; thread++) yield untilStopped(thread)
  })()
  function* untilStopped(thread: number) {
    for (const message of planThread({ run: 'rolling', thread, messages: PER_THREAD })) {
      if (stopped) return
      yield message
    }
  }
  const posting = postThreads({
    threads,
    gateway: workspace,
    inFlight: IN_FLIGHT,
    rate: RATE,
    onAccepted: () => {},
  })
  const reads = startReads({ workspace, rate: READS })
  await pause(CALM_MS)
  const began = performance.now()
  earlier?.upgrade()
  const changes = partitions === true ? await changePartitions({ mongoUrl: own.servers.mongo.url, say }) : []
  const restarts = partitions === true ? [] : await restartEach({ runFile: own.runFile, say })
  const seconds = (performance.now() - began) / 1_000
  await pause(CALM_MS)
  stopped = true
  const [posted, read] = await Promise.all([posting, reads.stop()])
  await waitUntil(() => sink.received.length >= posted.length, { timeoutMs: ARRIVED_MS })
  const reconciliation = reconcile(posted, sink.received)
  const repeated = posted.reduce((sum, { repeats }) => sum + repeats, 0)
  const failedReads = read.filter(({ status }) => status !== 200)
  const ms = posted.flatMap(({ postedAt, acceptedAt }) =>
    acceptedAt === undefined ? [] : [acceptedAt - postedAt],
  )
  console.table(
    restarts.map(({ instance, goneAfterMs, readyAfterMs }) => ({
      instance,
      'gone after s': (goneAfterMs / 1_000).toFixed(1),
      'ready again after s': (readyAfterMs / 1_000).toFixed(1),
    })),
  )
  console.table(changes.map(({ partitions, ms }) => ({ partitions, 'after s': (ms / 1_000).toFixed(1) })))
  console.table({
    'seconds of restarts or changes': Math.round(seconds),
    'longest time without a delivery, s': (longestPause(sink.received) / 1_000).toFixed(1),
    'messages posted': reconciliation.posted,
    'posts that were not answered with 200 at once': repeated,
    'p99 of their answers, ms': Math.round(percentile(ms, 0.99) ?? Number.NaN),
    reads: read.length,
    'reads that failed': failedReads.length,
    'p99 of the reads, ms': Math.round(
      percentile(
        read.map((one) => one.ms),
        0.99,
      ) ?? Number.NaN,
    ),
    'arrived once': reconciliation.once,
    'arrived twice': reconciliation.doubled,
    missing: reconciliation.missing,
    'threads out of order': reconciliation.threadsOutOfOrder,
    'calls repeated under their id': sink.repeats(),
  })
  for (const { path, status } of failedReads.slice(0, 10)) say(`${status} ${path}`)
  return isReconciled(reconciliation, reconciliation.posted) && repeated === 0 && failedReads.length === 0
}

/** Milliseconds between two that followed each other. */
function longestPause(received: readonly { at: number }[]): number {
  return received.reduce(
    (longest, { at }, index) => Math.max(longest, at - (received[index - 1]?.at ?? at)),
    0,
  )
}
