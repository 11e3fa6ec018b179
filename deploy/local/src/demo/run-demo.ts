import { dirname } from 'node:path'
import { z } from 'zod'
import {
  configOf,
  misbehave,
  readTroubles,
  registerWebhook,
  SIMULATED,
  type SimulatedNumber,
  SOME_FAIL,
  simulatedNumber,
  type Troubles,
} from '../simulator/client.ts'
import { waitUntil } from '../wait-until.ts'
import { CHANNEL_EXT_ID, planThreads } from './demo-plan.ts'
import { type FurtherDispatcher, startFurtherDispatcher } from './further-dispatcher.ts'
import { type DispatcherCount, type GatewayClient, registerWorkspace } from './gateway-client.ts'
import { postThreads } from './post-threads.ts'
import { isReconciled, latencies, type Reconciliation, reconcile, uncounted } from './reconciliation.ts'
import { dispatchersOf, isTogether, type Kill, killProcess, type RunningSystem } from './running-system.ts'
import { type LoggedMessage, sumOf, type TimeSpent, timeSpent } from './time-spent.ts'
import { awaitReceived, createArrivalLog, simulatorPosition } from './watch-simulator.ts'

const AT_ONCE = 6
const PAGE = 200

/** Reading each message of a large run would take longer than the run. */
const MOST = 2_000
const SENT = ['sent', 'delivered', 'read']

const time = z.iso.datetime().transform((text) => Date.parse(text))

const page = z.looseObject({
  data: z.array(z.looseObject({ _id: z.string() })),
  next: z.string().nullable(),
})

const message = z.looseObject({
  thread: z.string(),
  receivedAt: time,
  timeline: z.array(z.looseObject({ at: time, state: z.string() })),
  attempts: z.array(z.looseObject({ at: time, ms: z.number(), outcome: z.string() })),
})

const IN_FLIGHT = 32
/** Below the 80 that a number may send, so that what is seen is no backlog of our own. */
const POSTS_A_SECOND = 60
const PATIENCE_MS = 120_000
const SETTLE_MS = 60_000
const SETTLE_CHECK_MS = 500
export interface DemoResult {
  reconciliation: Reconciliation
  /** Milliseconds, one for each message. */
  latency: { response: number[]; arrival: number[] }
  /** The dispatcher's own. */
  count: DispatcherCount
  troubles: Troubles
  /** The dispatcher that was killed half-way; undefined in a calm run. */
  kill: Kill | undefined
  /** Where the messages spent their time; of so many of them. */
  times: { messages: number; spent: TimeSpent }
  reconciled: boolean
}

export interface DemoProgress {
  accepted(): void
  arrived(different: number): void
  killing(victim: string): void
}

interface DemoOptions {
  system: RunningSystem
  runFile: string
  messages: number
  threads: number
  /** Sends fail, responses get lost and, half-way, a dispatcher is killed: one that is started for it, where all services are one process. */
  withFailures: boolean
  progress: DemoProgress
}

/**
 * Sends templated messages through the gateway to the simulator, from a workspace of its own. Gives up when nothing new
 * has arrived for two minutes.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { simulatorUrl, gatewayUrl } = options.system
  const run = Date.now().toString(36)
  const number = simulatedNumber(simulatorUrl, String(Date.now()))
  const gateway = await registerWorkspace(gatewayUrl, run)
  await connectNumber(gateway, number)
  const log = createArrivalLog(number, await simulatorPosition(simulatorUrl))
  await misbehave({ ...number, behaviour: options.withFailures ? SOME_FAIL : {} })
  const further = await furtherDispatcher(options)
  try {
    return await sendAll({ ...options, run, gateway, number, log, further })
  } finally {
    await misbehave({ ...number, behaviour: {} })
    await further?.stop()
  }
}

async function sendAll(
  options: DemoOptions & {
    run: string
    gateway: GatewayClient
    number: SimulatedNumber
    log: ReturnType<typeof createArrivalLog>
    further: FurtherDispatcher | undefined
  },
): Promise<DemoResult> {
  const { messages, threads, progress, run, gateway, number, log } = options
  const posting = postThreads({
    threads: planThreads({ messages, threads, run }),
    gateway,
    rate: POSTS_A_SECOND,
    inFlight: IN_FLIGHT,
    onAccepted: progress.accepted,
  })
  let killing: Promise<Kill> | undefined
  const killOnce = () => {
    if (options.withFailures) killing ??= killDispatcher(options)
  }
  const onReceived = (different: number) => {
    progress.arrived(different)
    if (different >= messages / 2) killOnce()
  }
  const watching = awaitReceived({ log, expected: messages, patienceMs: PATIENCE_MS, posting, onReceived })
  const [posted] = await Promise.all([posting, watching])
  killOnce()
  const kill = await killing
  const count = await settledCount(gateway, messages)
  // A message that is sent twice may arrive the second time after the last one has arrived.
  await log.read()
  const reconciliation = reconcile(posted, log.received)
  const troubles = await readTroubles(number)
  const isWhole = isReconciled(reconciliation, messages) && uncounted(troubles.webhook) === 0
  return {
    reconciliation,
    count,
    kill,
    times: await readTimes(gateway, kill && { from: kill.at, to: kill.at + kill.readyAfterMs }),
    troubles,
    latency: latencies(posted, log.received),
    reconciled: isWhole && count.accepted === messages && count.difference === 0,
  }
}

/** Starts a dispatcher to be killed, where one process hosts all services. */
async function furtherDispatcher(options: DemoOptions): Promise<FurtherDispatcher | undefined> {
  const { system, runFile, withFailures } = options
  if (!withFailures || !isTogether(system)) return undefined
  return startFurtherDispatcher({ system, directory: dirname(runFile) })
}

/** Not the first one where there are several: the gateway's requests for the message log go to that. */
function killDispatcher(options: DemoOptions & { further: FurtherDispatcher | undefined }): Promise<Kill> {
  const { system, runFile, progress, further } = options
  const victim = further?.name ?? dispatchersOf(system).at(-1) ?? 'dispatcher'
  progress.killing(victim)
  return further === undefined ? killProcess({ victim, runFile }) : further.kill()
}

/** The dispatcher's count once all messages are in it and at rest, or after a minute as it is. */
async function settledCount(gateway: GatewayClient, messages: number): Promise<DispatcherCount> {
  let count = await gateway.reconciliation()
  const isSettled = async () => {
    count = await gateway.reconciliation()
    const { accepted, inFlight, sent, unaudited } = count
    return accepted === messages && inFlight + sent + unaudited === 0
  }
  await waitUntil(isSettled, { timeoutMs: SETTLE_MS, intervalMs: SETTLE_CHECK_MS })
  return count
}

/** Configures a channel that sends by a number of the simulator's, which posts the statuses of its sends there. */
async function connectNumber(
  gateway: Pick<GatewayClient, 'putChannel' | 'providerUrl'>,
  number: SimulatedNumber,
): Promise<void> {
  await gateway.putChannel({
    name: 'Demo',
    description: `Sends to the bundled ${SIMULATED.description.label} simulator`,
    extId: CHANNEL_EXT_ID,
    hook: SIMULATED.name,
    callback: SIMULATED.name,
    handlerUrl: 'native:agents/echo',
    config: configOf(number),
  })
  await registerWebhook(number, gateway.providerUrl(CHANNEL_EXT_ID))
}

/** Where the messages of a workspace spent their time; the latest 2,000 of them, by the message log. */
async function readTimes(
  gateway: Pick<GatewayClient, 'get'>,
  killed: { from: number; to: number } | undefined,
): Promise<{ messages: number; spent: TimeSpent }> {
  const ids = await latestIds(gateway)
  const found = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, worker) => {
      const own: z.output<typeof message>[] = []
      for (let at = worker; at < ids.length; at += AT_ONCE)
        own.push(message.parse(await gateway.get(`/rest/messages/${ids[at]}`)))
      return own
    }),
  )
  const messages = found.flat().toSorted((a, b) => a.receivedAt - b.receivedAt)
  const threads = Map.groupBy(messages, ({ thread }) => thread)
  const spent = [...threads.values()].map((thread) => timeSpent(thread.map(loggedMessage), killed))
  return { messages: messages.length, spent: sumOf(spent) }
}

async function latestIds(gateway: Pick<GatewayClient, 'get'>): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = ''; after !== null && ids.length < MOST; ) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(after === '' ? {} : { after }) })
    const { data, next } = page.parse(await gateway.get(`/rest/messages?${query}`))
    ids.push(...data.map(({ _id }) => _id))
    after = next
  }
  return ids
}

function loggedMessage({ receivedAt, timeline, attempts }: z.output<typeof message>): LoggedMessage {
  const sent = timeline.find(({ state }) => SENT.includes(state)) ?? timeline.at(-1)
  return {
    receivedAt,
    sentAt: sent?.at ?? receivedAt,
    attempts: attempts.map(({ at, ms, outcome }) => ({ startedAt: at - ms, endedAt: at, outcome })),
  }
}
