import { postThreads } from '@parley/local/demo/post-threads'
import { isReconciled, reconcile } from '@parley/local/demo/reconciliation'
import { misbehave } from '@parley/local/simulator/client'
import { waitUntil } from '@parley/local/wait-until'
import { connectNumber, connectRpc, phoneNumberIdOf, planThreads, spread } from '../load/lines.ts'
import { createSimulatorLog, startRpcSink } from '../load/received-messages.ts'
import {
  arrivalRows,
  count,
  figureRow,
  inSeconds,
  reconciliationRows,
  repeatedPosts,
  type ScenarioResult,
  stateRows,
} from '../report/table.ts'
import { killAndObserve, killAtShares } from '../strike/kill-at-shares.ts'
import { openStore } from '../system/message-store.ts'
import type { OwnSystem } from '../system/own-system.ts'
import { registerWorkspace } from '../system/workspace.ts'

const NUMBERS = 20
const RPC_CHANNEL = NUMBERS + 1
const RPC_SHARE = 0.6
const RPC_PER_THREAD = 80
/** Below what a person may get at once. */
const WHATSAPP_PER_THREAD = 32
const SETTLED_MS = 300_000
const WATCHED_MS = 30_000
const TROUBLE = {
  failures: [{ status: 500, code: 131000, share: 0.01 }],
  dropAnswers: [{ share: 0.01 }],
}
/** The process that is killed once this share of the messages was answered with 200. */
const KILLS = [
  { at: 0.15, victim: 'dispatcher-2' },
  { at: 0.3, victim: 'rabbitmq' },
  { at: 0.45, victim: 'dispatcher-2' },
  { at: 0.6, victim: 'mongodb' },
  { at: 0.75, victim: 'dispatcher-2' },
]

/**
 * Posts messages over RPC and many numbers, through two dispatchers, while one of them is killed three times and
 * RabbitMQ and MongoDB once each; then counts what arrived.
 */
export async function runWithKills(options: {
  own: OwnSystem
  messages: number
  rate: number
  say(line: string): void
}): Promise<ScenarioResult> {
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
  let accepted = 0
  const posting = postThreads({
    ...{ threads, gateway: workspace, rate, inFlight: threads.length },
    onAccepted: () => void accepted++,
  })
  const killing = killAtShares({
    ...{ kills: KILLS, say },
    progress: () => accepted / messages,
    kill: (victim) => killAndObserve({ store, runFile: own.runFile, victim }),
  })
  const [posted, kills] = await Promise.all([posting, killing])
  say(`${accepted} messages were answered with 200; waiting until all are settled …`)
  await waitUntil(() => store.isSettled(accepted), { timeoutMs: SETTLED_MS, intervalMs: 1_000 })
  const log = createSimulatorLog(simulatorUrl)
  await log.read()
  const received = [...log.received, ...sink.received].sort((a, b) => a.at - b.at)
  const reconciliation = reconcile(posted, received)
  const states = await store.states()
  await sink.close()
  await store.close()
  const passed = isReconciled(reconciliation, messages) && states.delivered === messages
  const table = [
    '',
    figureRow('Killed (SIGKILL)', 'ready after', 'taken over', 'longest silence'),
    ...kills.map(({ victim, at, readyAfterMs, takenOverAfterMs }) =>
      figureRow(
        `  ${victim}`,
        ...[readyAfterMs, takenOverAfterMs, longestSilence(at, received)].map(inSeconds),
      ),
    ),
    '',
    'Messages',
    ...reconciliationRows(reconciliation),
    figureRow('  posts repeated for want of a 200', count(repeatedPosts(posted))),
    figureRow('  RPC calls repeated under their id', count(sink.repeats())),
    ...stateRows(states),
    ...arrivalRows('arrival', posted, received),
    figureRow('  the whole run', inSeconds(performance.now() - began)),
    '',
    passed ? 'Nothing was lost, doubled or out of order.' : 'Something was lost, doubled or out of order.',
  ].join('\n')
  return { table, passed }
}

/** A part goes over RPC, the rest from the numbers in turn; threads of either are mixed. */
function planLoad(messages: number) {
  const rpc = Math.round(messages * RPC_SHARE)
  return planThreads([
    ...spread(rpc, RPC_PER_THREAD).map((size) => ({ size })),
    ...spread(messages - rpc, WHATSAPP_PER_THREAD).map((size, at) => ({ size, number: (at % NUMBERS) + 1 })),
  ])
}

/** The longest time without any arrival in the half minute after a kill. */
function longestSilence(killedAt: number, received: ReadonlyArray<{ at: number }>): number {
  const times = received.map(({ at }) => at).filter((at) => at > killedAt && at < killedAt + WATCHED_MS)
  return Math.max(0, ...times.map((at, index) => at - (times[index - 1] ?? killedAt)))
}
