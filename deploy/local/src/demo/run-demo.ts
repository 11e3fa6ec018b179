import { SetupError } from '../setup-error.ts'
import { waitUntil } from '../wait-until.ts'
import { type Conservation, conserve, isConserved, latencies } from './conservation.ts'
import { CHANNEL_EXT_ID, planThreads } from './demo-plan.ts'
import { type GatewayClient, registerWorkspace } from './gateway-client.ts'
import { postThreads } from './post-threads.ts'
import type { RunningSystem } from './running-system.ts'
import { awaitArrivals, createArrivalLog, simulatorPosition } from './watch-simulator.ts'

const IN_FLIGHT = 32
const PATIENCE_MS = 120_000
const REQUEST_MS = 10_000
const SETTLE_MS = 15_000
const SETTLE_CHECK_MS = 500
const UNSETTLED = ['received', 'handled', 'sending', 'sent']

export interface DemoResult {
  conservation: Conservation
  /** Milliseconds, one for each message. */
  latency: { answer: number[]; arrival: number[] }
  /** Count by state, from the dispatcher. */
  states: Map<string, number>
  conserved: boolean
}

export interface Progress {
  answered(): void
  arrived(different: number): void
}

/**
 * Sends templated messages through the gateway to the simulator, from a workspace of its own. Gives up when
 * nothing new has arrived for two minutes.
 */
export async function runDemo(options: {
  system: Pick<RunningSystem, 'gatewayUrl' | 'simulatorUrl'>
  messages: number
  threads: number
  progress: Progress
}): Promise<DemoResult> {
  const { system, messages, threads, progress } = options
  const run = Date.now().toString(36)
  const phoneNumberId = String(Date.now())
  const gateway = await registerWorkspace(system.gatewayUrl, run)
  await connectLine({ gateway, phoneNumberId, simulatorUrl: system.simulatorUrl })
  const from = await simulatorPosition(system.simulatorUrl)
  const posting = postThreads({
    threads: planThreads({ messages, threads, run }),
    gateway,
    inFlight: IN_FLIGHT,
    onAnswered: progress.answered,
  })
  const log = createArrivalLog({ simulatorUrl: system.simulatorUrl, phoneNumberId, from })
  const watching = awaitArrivals({
    log,
    expected: messages,
    patienceMs: PATIENCE_MS,
    posting,
    onArrivals: progress.arrived,
  })
  const [posted] = await Promise.all([posting, watching])
  const states = await settledStates(gateway, messages)
  // A message that is sent twice may arrive the second time after the last one has arrived.
  await log.read()
  const conservation = conserve(posted, log.arrivals)
  return {
    conservation,
    latency: latencies(posted, log.arrivals),
    states,
    conserved: isConserved(conservation, messages),
  }
}

/**
 * Configures a channel that sends to the simulator under a phone number of its own, and tells the simulator where
 * to post what becomes of the sends.
 */
export async function connectLine(options: {
  gateway: Pick<GatewayClient, 'putChannel' | 'providerUrl'>
  phoneNumberId: string
  simulatorUrl: string
}): Promise<void> {
  const { gateway, phoneNumberId, simulatorUrl } = options
  const appSecret = crypto.randomUUID()
  const apiUrl = new URL('/v23.0', simulatorUrl).href
  await gateway.putChannel({
    name: 'Demo',
    description: 'Sends to the bundled WhatsApp simulator',
    extId: CHANNEL_EXT_ID,
    hook: 'whatsapp',
    callback: 'whatsapp',
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId, accessToken: 'demo', apiUrl, appSecret, verifyToken: crypto.randomUUID() },
  })
  const answer = await fetch(new URL('/simulator/webhook', simulatorUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ phoneNumberId, url: gateway.providerUrl(CHANNEL_EXT_ID), appSecret }),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  if (!answer.ok) throw new SetupError(`The simulator took no webhook: ${await answer.text()}`)
}

/** The counts by state once none is on its way, or after 15 s as they are. */
async function settledStates(gateway: GatewayClient, messages: number): Promise<Map<string, number>> {
  let states = new Map<string, number>()
  await waitUntil(
    async () => {
      states = await gateway.countStates(messages * 2)
      return UNSETTLED.every((state) => !states.has(state))
    },
    { timeoutMs: SETTLE_MS, intervalMs: SETTLE_CHECK_MS },
  )
  return states
}
