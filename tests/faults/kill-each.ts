import { setTimeout as pause } from 'node:timers/promises'
import { connectLine } from '@parley/local/demo/connect-line'
import { type Conservation, conserve, latencies } from '@parley/local/demo/conservation'
import { type PlannedMessage, planMessage } from '@parley/local/demo/demo-plan'
import { registerWorkspace } from '@parley/local/demo/gateway-client'
import { killProcess } from '@parley/local/demo/kill-process'
import { paced } from '@parley/local/demo/paced'
import { type Posted, postThreads } from '@parley/local/demo/post-threads'
import type { RunningSystem } from '@parley/local/demo/running-system'
import { createArrivalLog, simulatorPosition } from '@parley/local/demo/watch-simulator'
import { waitUntil } from '@parley/local/wait-until'

const BETWEEN_MS = 4_000
/** What was answered with 200 must be at the simulator within this time. */
const ARRIVE_MS = 120_000
/** A send that is repeated comes within the window for uncertain sends, which is 10 s here. */
const STRAGGLERS_MS = 20_000

export interface Fault {
  victim: string
  /** From the kill until the gateway is ready with another process in its place. */
  readyAfterMs: number
}

export interface FaultResult {
  faults: Fault[]
  conservation: Conservation
  /** Posts that were repeated because no 200 came. */
  repeated: number
  /** The longest time from a message's 200 to its arrival. */
  slowestArrivalMs: number
  survived: boolean
}

/**
 * Posts messages at a steady rate while each victim is killed (SIGKILL), one after the other, each when the
 * system is ready again after the one before. Then counts what arrived.
 */
export async function killEach(options: {
  system: RunningSystem
  runFile: string
  victims: string[]
  rate: number
  threads: number
  say(line: string): void
}): Promise<FaultResult> {
  const { system, runFile, victims, rate, say } = options
  const run = Date.now().toString(36)
  const phoneNumberId = String(Date.now())
  const gateway = await registerWorkspace(system.gatewayUrl, run)
  await connectLine({ gateway, phoneNumberId, simulatorUrl: system.simulatorUrl })
  const log = createArrivalLog({
    simulatorUrl: system.simulatorUrl,
    phoneNumberId,
    from: await simulatorPosition(system.simulatorUrl),
  })
  const load = { running: true }
  const posting = postThreads({
    threads: Array.from({ length: options.threads }, (_, thread) => endlessThread({ thread, run, load })),
    gateway: { postMessage: paced(rate, gateway.postMessage) },
    inFlight: options.threads,
    onAnswered: () => {},
  })
  const faults: Fault[] = []
  try {
    for (const victim of victims) {
      await pause(BETWEEN_MS)
      const fault = await killProcess({ victim, runFile })
      const seconds = (fault.readyAfterMs / 1_000).toFixed(1)
      say(`${victim} (process ${fault.pid}) was killed; ready again after ${seconds} s`)
      faults.push(fault)
    }
    await pause(BETWEEN_MS)
  } finally {
    load.running = false
  }
  const posted = await posting
  const answered = posted.filter(({ answeredAt }) => answeredAt !== undefined)
  say(`All is up again; ${answered.length} messages were answered with 200. Waiting for their arrival …`)
  const allArrived = async () => {
    await drained(log)
    return log.different() >= answered.length
  }
  await waitUntil(allArrived, { timeoutMs: ARRIVE_MS })
  await pause(STRAGGLERS_MS)
  await drained(log)
  const conservation = conserve(answered, log.arrivals)
  const slowestArrivalMs = slowest(answered, log.arrivals)
  const { missing, threadsOutOfOrder } = conservation
  return {
    faults,
    conservation: { ...conservation, posted: posted.length },
    repeated: posted.reduce((sum, { repeats }) => sum + repeats, 0),
    slowestArrivalMs,
    survived: missing === 0 && threadsOutOfOrder === 0 && slowestArrivalMs <= ARRIVE_MS,
  }
}

function* endlessThread(options: {
  thread: number
  run: string
  load: { running: boolean }
}): Iterable<PlannedMessage> {
  const { thread, run, load } = options
  for (let sequence = 0; load.running; sequence++) yield planMessage({ thread, sequence, run })
}

/** Reads what the simulator has until there is nothing new. */
async function drained(log: { read(): Promise<boolean> }): Promise<void> {
  while (await log.read());
}

function slowest(answered: Posted[], arrivals: Parameters<typeof latencies>[1]): number {
  const sinceAnswer = answered.map((message) => ({
    ...message,
    postedAt: message.answeredAt ?? message.postedAt,
  }))
  return Math.max(0, ...latencies(sinceAnswer, arrivals).arrival)
}
