// Restarts every instance of every service behind the gateway under load, and counts what failed.
//   npm run test:rolling
//   npm run test:rolling -- --from COMMIT    it starts with the code of that commit, and restarts with this one
//   npm run test:rolling -- --partitions     changes the number of partitions instead, twice and back
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { CHECKOUT } from '@parley/local/checkout'
import { isReconciled, latencies, reconcile } from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { connectRpc, planThread } from '../load/lines.ts'
import { startPosting, startReads } from '../load/mixed-load.ts'
import { startRpcSink } from '../load/received-messages.ts'
import { quantile } from '../report/results.ts'
import { repeatedPosts, seconds } from '../report/table.ts'
import { restartEach } from '../strike/restart-each.ts'
import { type EarlierCheckout, extractCheckout } from '../system/earlier-checkout.ts'
import { startOwnSystem } from '../system/own-system.ts'
import { outputOf } from '../system/processes.ts'
import { registerWorkspace } from '../system/workspace.ts'

const size = z.object({
  RATE: integer({ min: 1, max: 2_000 }).default(300).describe('Messages a second'),
  READS: integer({ min: 1, max: 2_000 }).default(100).describe('Reads a second'),
  COPIES: integer({ min: 2, max: 4 }).default(2).describe('Instances of each service'),
})
const { RATE, READS, COPIES: count } = parseConfig(size, process.env)

const IN_FLIGHT = 256
const PER_THREAD = 20
/** Of every service. */
const PATHS = ['/rest/channels/1', '/rest/users', '/rest/hooks', '/rest/messages?limit=1']
/** There and back: more than the default, fewer, the default. */
const PARTITIONS = [64, 3, 16]
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
  const posting = startPosting({
    ...{ workspace, rate: RATE, inFlight: IN_FLIGHT },
    threadAt: (thread) => planThread({ run: 'rolling', thread, messages: PER_THREAD }),
  })
  const reading = startReads({ workspace, paths: PATHS, rate: READS })
  await pause(CALM_MS)
  const began = performance.now()
  earlier?.upgrade()
  const changes = partitions === true ? await changePartitions(own.servers.mongo.url) : []
  const restarts = partitions === true ? [] : await restartEach({ runFile: own.runFile, say })
  const struckSeconds = (performance.now() - began) / 1_000
  await pause(CALM_MS)
  const [{ posted, refusal }, reads] = await Promise.all([posting.stop(), reading.stop()])
  if (refusal !== undefined) throw new Error(refusal)
  await waitUntil(() => sink.received.length >= posted.length, { timeoutMs: ARRIVED_MS })
  const reconciliation = reconcile(posted, sink.received)
  const repeated = repeatedPosts(posted)
  const failedReads = reads.filter(({ outcome }) => outcome !== 200)
  console.table(
    restarts.map(({ instance, goneAfterMs, readyAfterMs }) => ({
      instance,
      'gone after s': seconds(goneAfterMs),
      'ready again after s': seconds(readyAfterMs),
    })),
  )
  console.table(changes.map(({ partitions, ms }) => ({ partitions, 'after s': seconds(ms) })))
  console.table({
    'seconds of restarts or changes': Math.round(struckSeconds),
    'longest time without a delivery, s': seconds(longestPause(sink.received)),
    'messages posted': reconciliation.posted,
    'posts that were not answered with 200 at once': repeated,
    'p99 of their answers, ms': Math.round(quantile(latencies(posted, []).response, 0.99)),
    reads: reads.length,
    'reads that failed': failedReads.length,
    'p99 of the reads, ms': Math.round(
      quantile(
        reads.map(({ ms }) => ms),
        0.99,
      ),
    ),
    'arrived once': reconciliation.once,
    'arrived twice': reconciliation.doubled,
    missing: reconciliation.missing,
    'threads out of order': reconciliation.threadsOutOfOrder,
    'calls repeated under their id': sink.repeats(),
  })
  for (const { path, outcome } of failedReads.slice(0, 10)) say(`${outcome} ${path}`)
  return isReconciled(reconciliation, reconciliation.posted) && repeated === 0 && failedReads.length === 0
}

/** Changes the number of partitions, one change after the other; returns how long each took, in milliseconds. */
async function changePartitions(mongoUrl: string): Promise<{ partitions: number; ms: number }[]> {
  const command = join(CHECKOUT, 'services/dispatcher/src/change-partitions.ts')
  const changes: { partitions: number; ms: number }[] = []
  for (const partitions of PARTITIONS) {
    const began = performance.now()
    await outputOf(process.execPath, [command, `${partitions}`], { MONGO_URL: mongoUrl, LOG_LEVEL: 'warn' })
    changes.push({ partitions, ms: performance.now() - began })
    say(`there are ${partitions} partitions`)
  }
  return changes
}

/** Milliseconds between two that followed each other. */
function longestPause(received: readonly { at: number }[]): number {
  return received.reduce(
    (longest, { at }, index) => Math.max(longest, at - (received[index - 1]?.at ?? at)),
    0,
  )
}
