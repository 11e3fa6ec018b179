import { postThreads } from '@parley/local/demo/post-threads'
import { reconcile } from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import { configureAssistant, NUMBERS, planConversations, STEPS } from '../load/conversations.ts'
import { startFunctionEndpoint } from '../load/function-endpoint.ts'
import { connectNumber } from '../load/lines.ts'
import { createSimulatorLog } from '../load/received-messages.ts'
import {
  arrivalRows,
  count,
  figureRow,
  inSeconds,
  reconciliationRows,
  repeatedPosts,
  type ScenarioResult,
  share,
  stateRows,
} from '../report/table.ts'
import { killCounts, killInTurn } from '../strike/kill-in-turn.ts'
import { openStore } from '../system/message-store.ts'
import type { OwnSystem } from '../system/own-system.ts'
import { registerWorkspace } from '../system/workspace.ts'
import { countCalls, countEnded, judge, type ModelRequest, modelCounts } from '../verdict/conversations.ts'

const SETTLED_MS = 300_000
const REQUEST_MS = 10_000
const KILLED_FOR_MS = 1_800_000
const KILLS = {
  instances: /^dispatcher(-\d+)?$/,
  servers: [
    { victim: 'rabbitmq', at: 0.3 },
    { victim: 'mongodb', at: 0.6 },
  ],
  everyMs: 5_000,
  // So that the rest can settle.
  until: 0.97,
  // On a machine so slow that the last one is not back after 5 s.
  waits: true,
}
const MODEL_MS = 100
const MANY = 1_000_000

/** The model takes a moment, and 5% of its calls fail. A share counts those that the ones before it let through. */
const SCRIPT = [
  { when: { share: 0.02 }, times: MANY, error: { status: 503 } },
  { when: { share: 0.04 }, times: MANY, error: { status: 429, retryAfterSeconds: 1 } },
  { when: { share: 0.05 }, times: MANY, broken: 'cut' },
  { times: MANY, delayMs: MODEL_MS },
]

/**
 * Has people talk with an assistant that calls functions, through three dispatchers of which one is killed every 5 s,
 * while RabbitMQ and MongoDB are killed once each, and model and functions fail now and then; then counts what arrived.
 */
export async function runAgents(options: {
  own: OwnSystem
  conversations: number
  /** Messages posted a second. */
  rate: number
  say(line: string): void
}): Promise<ScenarioResult> {
  const { own, conversations, rate, say } = options
  const { gatewayUrl, simulatorUrl, modelSimulatorUrl } = own.system
  const began = performance.now()
  const endpoint = await startFunctionEndpoint()
  const store = await openStore(own.servers.mongo.url)
  const workspace = await registerWorkspace(gatewayUrl, 'agents')
  const assistantId = await configureAssistant(workspace, endpoint.url)
  for (let id = 1; id <= NUMBERS; id++)
    await connectNumber({ workspace, simulatorUrl, id, agent: { type: 'functionCall', assistantId } })
  await scriptModel(modelSimulatorUrl)
  const run = Date.now().toString(36)
  const threads = planConversations({ run, conversations })
  const messages = threads.flat().length
  const log = createSimulatorLog(simulatorUrl)
  const progress = async () => {
    await log.read()
    return log.received.length / messages
  }
  let accepted = 0
  const posting = postThreads({
    ...{ threads, gateway: workspace, rate, inFlight: threads.length },
    onAccepted: () => void accepted++,
  })
  const signal = AbortSignal.timeout(KILLED_FOR_MS)
  const killing = killInTurn({ ...KILLS, runFile: own.runFile, progress, signal, say })
  const [posted, kills] = await Promise.all([posting, killing])
  say('The kills are over; waiting until all is settled …')
  await waitUntil(() => store.isSettled(accepted), { timeoutMs: SETTLED_MS, intervalMs: 1_000 })
  await waitUntil(() => log.read().then(() => true), { timeoutMs: SETTLED_MS })
  const places = threads.flatMap((_, thread) => STEPS.map((_step, sequence) => ({ thread, sequence })))
  const figures = {
    reconciliation: reconcile(posted, log.received),
    ended: countEnded(log.received, { conversations, unreadable: log.unreadable() }),
    functions: countCalls({ ...endpoint, results: await store.toolCalls() }, places),
    model: modelCounts({
      requests: await requestsOf(modelSimulatorUrl),
      results: await store.modelResults(),
      kills,
    }),
    states: await store.states(),
  }
  const verdict = judge(figures, { messages, functions: places.length })
  await endpoint.close()
  await store.close()
  const { reconciliation, ended, functions, model, states } = figures
  const table = [
    '',
    'Killed (SIGKILL)',
    ...killCounts(kills).map(([victim, times]) => figureRow(`  ${victim}`, count(times))),
    '',
    'Conversations',
    figureRow('  in all', count(ended.conversations)),
    figureRow('  their last text arrived once', count(ended.once)),
    '',
    'Messages of people, each to get one text',
    ...reconciliationRows(reconciliation),
    figureRow('  texts without a receipt', count(ended.unreadable)),
    figureRow('  posts repeated for want of a 200', count(repeatedPosts(posted))),
    ...stateRows(states),
    ...arrivalRows('the text', posted, log.received),
    '',
    'Functions',
    figureRow('  with their effect once, by the ledger of their server', count(functions.once)),
    figureRow('  with their effect twice', count(functions.doubled)),
    figureRow('  without their effect, as the model reads', count(functions.undone)),
    figureRow('  that may have been done, as the model reads', count(functions.uncertain)),
    figureRow('  lost', count(functions.missing)),
    figureRow('  two calls of one id at the same time', count(functions.overlapping)),
    figureRow('  ids that changed their arguments', count(functions.changed)),
    figureRow('  threads out of order', count(functions.threadsOutOfOrder)),
    figureRow('  calls repeated under their id', count(functions.repeated)),
    '',
    'Model',
    figureRow('  calls', count(model.calls)),
    figureRow('  turns stored', count(model.stored)),
    figureRow('  failures stored', count(model.failed)),
    figureRow('  calls repeated', count(model.repeated), share(model.repeated, model.calls)),
    figureRow('  of them without a kill that lost them', count(model.unexplained)),
    figureRow('  the whole run', inSeconds(performance.now() - began)),
    '',
    ...(verdict.length === 0
      ? ['Every conversation ended with its last text sent once; nothing was lost, doubled or out of order.']
      : verdict),
  ].join('\n')
  return { table, passed: verdict.length === 0 }
}

async function scriptModel(modelSimulatorUrl: string): Promise<void> {
  const response = await fetch(new URL('/simulator/script', modelSimulatorUrl), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ responses: SCRIPT }),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  if (!response.ok) throw new Error(`The model simulator refused its script: ${await response.text()}`)
}

const requestsPage = z.looseObject({
  data: z.array(z.looseObject({ at: z.iso.datetime(), lastUserText: z.string() })),
  next: z.int(),
})

/** All that the model was asked, in order. */
async function requestsOf(modelSimulatorUrl: string): Promise<ModelRequest[]> {
  const requests: ModelRequest[] = []
  for (let after = 0; ; ) {
    const url = new URL(`/simulator/requests?after=${after}`, modelSimulatorUrl)
    const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
    const { data, next } = requestsPage.parse(await response.json())
    if (data.length === 0) return requests
    requests.push(...data.map(({ at, lastUserText }) => ({ text: lastUserText, at: Date.parse(at) })))
    after = next
  }
}
