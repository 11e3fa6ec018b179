import { postThreads } from '@parley/local/demo/post-threads'
import {
  isReconciled,
  latencies,
  percentile,
  type Reconciliation,
  reconcile,
} from '@parley/local/demo/reconciliation'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import { configureAssistant, NUMBERS, planConversations, STEPS } from './conversations.ts'
import { countCalls, type FunctionCounts, startFunctionEndpoint } from './function-endpoint.ts'
import { type Killed, killEvery } from './kill-every.ts'
import { connectNumber } from './lines.ts'
import { type ModelCounts, type ModelRequest, modelCounts } from './model-counts.ts'
import type { OwnSystem } from './own-system.ts'
import { createSimulatorLog } from './received-messages.ts'
import { openStore } from './store.ts'
import { registerWorkspace } from './workspace.ts'

const SETTLED_MS = 300_000
const REQUEST_MS = 10_000
/** Kills end when so much is through, so that the rest can settle. */
const KILLED_UNTIL = 0.97
const KILLED_FOR_MS = 1_800_000
/** Of the functions those of which the model reads that they may have been done: what fails, or is killed meanwhile. */
const UNCERTAIN_SHARE = 0.1
const MODEL_MS = 100
const MANY = 1_000_000

/** The model takes a moment, and 5% of its calls fail. A share counts those that the ones before it let through. */
const SCRIPT = [
  { when: { share: 0.02 }, times: MANY, error: { status: 503 } },
  { when: { share: 0.04 }, times: MANY, error: { status: 429, retryAfterSeconds: 1 } },
  { when: { share: 0.05 }, times: MANY, broken: 'cut' },
  { times: MANY, delayMs: MODEL_MS },
]

export interface AgentRun {
  kills: Killed[]
  reconciliation: Reconciliation
  ended: EndedCounts
  functions: FunctionCounts
  model: ModelCounts
  states: Record<string, number>
  repeatedPosts: number
  /** From a message's 200 to its text, in milliseconds. */
  arrival: { median: number; slowest: number }
  seconds: number
  /** What went wrong; nothing when all held. */
  verdict: string[]
  passed: boolean
}

/** How conversations ended. */
interface EndedCounts {
  conversations: number
  /** Their last text arrived, and once. */
  once: number
  /** Texts that say of no function. */
  unreadable: number
}

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
}): Promise<AgentRun> {
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
  let acceptedCount = 0
  const posting = postThreads({
    threads,
    gateway: workspace,
    rate,
    inFlight: threads.length,
    onAccepted: () => acceptedCount++,
  })
  const killing = killEvery({
    runFile: own.runFile,
    progress,
    until: KILLED_UNTIL,
    timeoutMs: KILLED_FOR_MS,
    say,
  })
  const [posted, kills] = await Promise.all([posting, killing])
  say('The kills are over; waiting until all is settled …')
  const settled = () => store.isSettled(acceptedCount)
  await waitUntil(settled, { timeoutMs: SETTLED_MS, intervalMs: 1_000 })
  await waitUntil(() => log.read().then(() => true), { timeoutMs: SETTLED_MS })
  const places = threads.flatMap((_, thread) => STEPS.map((_step, sequence) => ({ thread, sequence })))
  const accepted = posted.map((one) => ({ ...one, postedAt: one.acceptedAt ?? one.postedAt }))
  const late = latencies(accepted, log.received).arrival
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
  return {
    kills,
    ...figures,
    repeatedPosts: posted.reduce((sum, { repeats }) => sum + repeats, 0),
    arrival: { median: percentile(late, 0.5) ?? 0, slowest: percentile(late, 1) ?? 0 },
    seconds: (performance.now() - began) / 1_000,
    verdict,
    passed: verdict.length === 0,
  }
}

type Figures = Pick<AgentRun, 'reconciliation' | 'ended' | 'functions' | 'model' | 'states'>

/** Says in a sentence each what did not hold. */
export function judge(
  { reconciliation, ended, functions, model, states }: Figures,
  planned: { messages: number; functions: number },
): string[] {
  const { conversations, once } = ended
  const rules: [isTrue: boolean, otherwise: string][] = [
    [once === conversations, `${conversations - once} conversations did not end with their last text once.`],
    [
      isReconciled(reconciliation, planned.messages) && ended.unreadable === 0,
      'Texts to people were lost, doubled or out of order.',
    ],
    [states.delivered === planned.messages, 'Not all messages ended delivered.'],
    [functions.doubled === 0, 'A function had its effect twice.'],
    [functions.changed === 0, 'A function was called under the id of another one.'],
    [functions.overlapping === 0, 'A function was called under one id twice at the same time.'],
    [
      functions.missing === 0 && functions.once + functions.undone === planned.functions,
      'Functions were lost.',
    ],
    [
      functions.uncertain < UNCERTAIN_SHARE * planned.functions,
      `Of ${functions.uncertain} functions it is not known whether they were done.`,
    ],
    [functions.threadsOutOfOrder === 0, 'Functions were called out of order.'],
    [
      model.unexplained === 0,
      `${model.unexplained} calls of the model were repeated without a kill that lost them.`,
    ],
  ]
  return rules.flatMap(([isTrue, otherwise]) => (isTrue ? [] : [otherwise]))
}

/** Counts the conversations whose last text arrived once. */
export function countEnded(
  received: ReadonlyArray<{ thread: number; sequence: number }>,
  { conversations, unreadable }: { conversations: number; unreadable: number },
): EndedCounts {
  const last = received.filter(({ sequence }) => sequence === STEPS.length - 1)
  const byThread = Map.groupBy(last, ({ thread }) => thread)
  return {
    conversations,
    once: [...byThread.values()].filter(({ length }) => length === 1).length,
    unreadable,
  }
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
