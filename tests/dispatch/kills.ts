import { postThreads } from '@parley/local/demo/post-threads'
import {
  isReconciled,
  latencies,
  percentile,
  type Reconciliation,
  reconcile,
} from '@parley/local/demo/reconciliation'
import { misbehave } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { killOneAfterAnother, type PlannedKill } from './kill-one-after-another.ts'
import { connectNumber, connectRpc, phoneNumberIdOf, planThreads, spread } from './lines.ts'
import type { OwnSystem } from './own-system.ts'
import { createSimulatorLog, startRpcSink } from './received-messages.ts'
import { openStore } from './store.ts'
import { registerWorkspace } from './workspace.ts'

const NUMBERS = 20
const RPC_CHANNEL = NUMBERS + 1
const RPC_SHARE = 0.6
const RPC_PER_THREAD = 80
/** Below what a person may get at once. */
const WHATSAPP_PER_THREAD = 32
const SETTLED_MS = 300_000
const TROUBLE = {
  failures: [{ status: 500, code: 131000, share: 0.01 }],
  dropAnswers: [{ share: 0.01 }],
}

export interface KillRun {
  kills: Array<PlannedKill & { longestSilenceMs: number }>
  reconciliation: Reconciliation
  states: Record<string, number>
  /** Posts that were repeated because no 200 came. */
  repeatedPosts: number
  rpcRepeats: number
  /** From a message's 200 to its arrival, in milliseconds. */
  arrival: { median: number; slowest: number }
  seconds: number
  passed: boolean
}

/**
 * Posts messages over RPC and many numbers, through two dispatchers, while one of them is killed three times and
 * RabbitMQ and MongoDB once each; then counts what arrived.
 */
export async function runWithKills(options: {
  own: OwnSystem
  messages: number
  rate: number
  say(line: string): void
}): Promise<KillRun> {
  const { own, messages, rate, say } = options
  const { gatewayUrl, simulatorUrl } = own.system
  const began = performance.now()
  const sink = await startRpcSink()
  const store = await openStore(own.servers.mongo.url)
  const workspace = await registerWorkspace(gatewayUrl, 'dispatch')
  await connectRpc({ workspace, callbackUrl: sink.url, id: RPC_CHANNEL })
  for (let id = 1; id <= NUMBERS; id++) {
    await connectNumber({ workspace, simulatorUrl, id })
    await misbehave({ simulatorUrl, phoneNumberId: phoneNumberIdOf(id), behaviour: { seed: id, ...TROUBLE } })
  }
  const threads = planLoad(messages)
  let acceptedCount = 0
  const posting = postThreads({
    threads,
    gateway: workspace,
    rate,
    inFlight: threads.length,
    onAccepted: () => acceptedCount++,
  })
  const progress = () => acceptedCount / messages
  const killing = killOneAfterAnother({ store, runFile: own.runFile, progress, say })
  const [posted, kills] = await Promise.all([posting, killing])
  say(`${acceptedCount} messages were answered with 200; waiting until all are settled …`)
  const settled = () => store.isSettled(acceptedCount)
  await waitUntil(settled, { timeoutMs: SETTLED_MS, intervalMs: 1_000 })
  const log = createSimulatorLog(simulatorUrl)
  await log.read()
  const received = [...log.received, ...sink.received].sort((a, b) => a.at - b.at)
  const reconciliation = reconcile(posted, received)
  const states = await store.states()
  const late = latencies(
    posted.map((message) => ({ ...message, postedAt: message.acceptedAt ?? message.postedAt })),
    received,
  ).arrival
  const result: KillRun = {
    kills: kills.map((kill) => ({ ...kill, longestSilenceMs: longestSilence(kill.killedAt, received) })),
    reconciliation,
    states,
    repeatedPosts: posted.reduce((sum, { repeats }) => sum + repeats, 0),
    rpcRepeats: sink.repeats(),
    arrival: { median: percentile(late, 0.5) ?? 0, slowest: percentile(late, 1) ?? 0 },
    seconds: (performance.now() - began) / 1_000,
    passed: isReconciled(reconciliation, messages) && states.delivered === messages,
  }
  await sink.close()
  await store.close()
  return result
}

/** A part goes over RPC, the rest from the numbers in turn; threads of either are mixed. */
function planLoad(messages: number) {
  const rpc = Math.round(messages * RPC_SHARE)
  return planThreads([
    ...spread(rpc, RPC_PER_THREAD).map((size) => ({ size })),
    ...spread(messages - rpc, WHATSAPP_PER_THREAD).map((size, at) => ({ size, number: (at % NUMBERS) + 1 })),
  ])
}

const WATCHED_MS = 30_000

/** The longest time without any arrival in the half minute after a kill. */
function longestSilence(killedAt: number, received: ReadonlyArray<{ at: number }>): number {
  const times = received.map(({ at }) => at).filter((at) => at > killedAt && at < killedAt + WATCHED_MS)
  return Math.max(0, ...times.map((at, index) => at - (times[index - 1] ?? killedAt)))
}
