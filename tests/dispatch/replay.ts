import { isReconciled, type Reconciliation, reconcile } from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import { connectNumber, planThreads, postAll, spread } from './lines.ts'
import type { OwnSystem } from './own-system.ts'
import { createSimulatorLog } from './received-messages.ts'
import { openStore, type Store } from './store.ts'
import { type DispatchWorkspace, registerWorkspace } from './workspace.ts'

/** As many as one number does not take long for. */
const NUMBERS = 10
const PER_THREAD = 10
const IN_FLIGHT = 32
const SETTLED_MS = 120_000
const STARTED_MS = 10_000
/** What runs again in the moment in which a dispatcher has not heard of the new token yet dies once more. */
const MAX_ROUNDS = 5
const EXPIRED = 'expired'

const replayed = z.object({ replayed: z.int(), more: z.boolean() })
const firstDead = z.looseObject({
  data: z.array(z.looseObject({ reason: z.string().optional(), fault: z.string().optional() })).min(1),
})

export interface ReplayRun {
  /** How many were dead before, of which reason and whose fault. */
  dead: number
  reason: string
  /** How many were run again, round by round. */
  rounds: number[]
  reconciliation: Reconciliation
  states: Record<string, number>
  seconds: number
  passed: boolean
}

/** Has messages die of an expired access token, mends it, and runs all of them again by a filter. */
export async function runReplay(options: {
  own: OwnSystem
  messages: number
  say(line: string): void
}): Promise<ReplayRun> {
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
  const seconds = (performance.now() - began) / 1_000
  const log = createSimulatorLog(simulatorUrl)
  await log.read()
  const [reconciliation, states] = [reconcile(posted, log.received), await store.states()]
  await store.close()
  return {
    dead,
    reason: `${first?.reason ?? ''} Fault: ${first?.fault ?? 'none'}.`,
    rounds,
    reconciliation,
    states,
    seconds,
    passed: dead === messages && rounds[0] === messages && isReconciled(reconciliation, messages),
  }
}

/** Runs again what is dead until nothing is. */
async function replayAll(options: {
  workspace: DispatchWorkspace
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
