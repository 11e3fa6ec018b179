import { isReconciled, reconcile } from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import { connectNumber, planThreads, postAll, spread } from '../load/lines.ts'
import { createSimulatorLog } from '../load/received-messages.ts'
import {
  count,
  figureRow,
  inSeconds,
  reconciliationRows,
  type ScenarioResult,
  stateRows,
} from '../report/table.ts'
import { openStore, type Store } from '../system/message-store.ts'
import type { OwnSystem } from '../system/own-system.ts'
import { registerWorkspace, type Workspace } from '../system/workspace.ts'

/** As many as one number does not take long for. */
const NUMBERS = 10
const PER_THREAD = 10
const IN_FLIGHT = 32
const SETTLED_MS = 120_000
const STARTED_MS = 10_000
/** A replay in the moment in which a dispatcher has not heard of the new token yet dies once more. */
const MAX_ROUNDS = 5
const EXPIRED = 'expired'

const replayed = z.object({ replayed: z.int(), more: z.boolean() })
const firstDead = z.looseObject({
  data: z.array(z.looseObject({ reason: z.string().optional(), fault: z.string().optional() })).min(1),
})

/** Has messages die of an expired access token, mends it, and runs all of them again by a filter. */
export async function runReplay(options: {
  own: OwnSystem
  messages: number
  say(line: string): void
}): Promise<ScenarioResult> {
  const { own, messages, say } = options
  const { gatewayUrl, simulatorUrl } = own.system
  const workspace = await registerWorkspace(gatewayUrl, 'replay')
  const store = await openStore(own.servers.mongo.url)
  const connectAll = async (accessToken: string) => {
    for (let id = 1; id <= NUMBERS; id++) await connectNumber({ workspace, simulatorUrl, id, accessToken })
  }
  await connectAll(EXPIRED)
  const posted = await postAll(workspace, { threads: planLoad(messages), inFlight: IN_FLIGHT })
  const allIn = (state: string) => async () => (await store.states())[state] === messages
  await waitUntil(allIn('dead'), { timeoutMs: SETTLED_MS, intervalMs: 500 })
  const { dead = 0 } = await store.states()
  const [first] = firstDead.parse(await workspace.call('GET', '/rest/messages?status=dead&limit=1')).data
  say(`${dead} messages are dead; the access token is mended`)
  await connectAll('valid')
  const began = performance.now()
  const rounds = await replayAll({ workspace, store, messages })
  const tookMs = performance.now() - began
  const log = createSimulatorLog(simulatorUrl)
  await log.read()
  const [reconciliation, states] = [reconcile(posted, log.received), await store.states()]
  await store.close()
  const passed = dead === messages && rounds[0] === messages && isReconciled(reconciliation, messages)
  const table = [
    '',
    'Replay',
    figureRow('  dead', count(dead)),
    `    ${first?.reason ?? ''} Fault: ${first?.fault ?? 'none'}.`,
    figureRow('  run again by a filter', ...rounds.map(count)),
    ...reconciliationRows(reconciliation),
    ...stateRows(states),
    figureRow('  until all were delivered', inSeconds(tookMs)),
    '',
    passed ? 'All were delivered, once each.' : 'Not all were delivered once.',
  ].join('\n')
  return { table, passed }
}

/** Runs again what is dead until nothing is; returns how many were, round by round. */
async function replayAll(options: {
  workspace: Workspace
  store: Store
  messages: number
}): Promise<number[]> {
  const { workspace, store, messages } = options
  const rounds: number[] = []
  const dead = { status: 'dead', limit: messages }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = await store.states()
    rounds.push(replayed.parse(await workspace.call('POST', '/rest/messages/replay', dead)).replayed)
    const started = async () => (await store.states()).dead !== before.dead
    await waitUntil(started, { timeoutMs: STARTED_MS })
    const settled = async () => {
      const { dead = 0, delivered = 0 } = await store.states()
      return dead + delivered === messages && (await store.open()) === 0
    }
    await waitUntil(settled, { timeoutMs: SETTLED_MS, intervalMs: 500 })
    if ((await store.states()).delivered === messages) break
  }
  return rounds
}

const planLoad = (messages: number) =>
  planThreads(spread(messages, PER_THREAD).map((size, at) => ({ size, number: (at % NUMBERS) + 1 })))
