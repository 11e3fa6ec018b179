import type { PlannedMessage } from '@parley/local/demo/demo-plan'
import { type Posted, postThreads } from '@parley/local/demo/post-threads'
import { connectNumber, connectRpc, phoneNumberIdOf, planThread } from '../dispatch/lines.ts'
import { type DispatchWorkspace, registerWorkspace } from '../dispatch/workspace.ts'
import { type Read, startReads } from './reads.ts'

const NUMBERS = 4
const IN_FLIGHT = 24
/** Below what a person may get at once. */
const PER_THREAD = 12
/** Of five threads so many go over RPC; the rest to WhatsApp. */
const RPC_OF_FIVE = 3
const THREADS_EACH = 100_000
const RUN = 'faults'

/** A workspace of its own, with an RPC channel and some numbers. */
export interface Lines {
  workspace: DispatchWorkspace
  phoneNumberIds: string[]
  /** The numbers' channels, as `connectNumber` counts them. */
  numbers: number[]
  /** No other round has threads from the first to before the end. */
  threads: { first: number; end: number }
}

export async function connectLines(options: {
  gatewayUrl: string
  simulatorUrl: string
  callbackUrl: string
  /** Counted from 0; no two rounds share a number or a thread. */
  round: number
}): Promise<Lines> {
  const { gatewayUrl, simulatorUrl, callbackUrl, round } = options
  const workspace = await registerWorkspace(gatewayUrl, `faults-${round}`)
  const first = round * (NUMBERS + 1) + 1
  await connectRpc({ workspace, callbackUrl, id: first })
  const numbers = Array.from({ length: NUMBERS }, (_, at) => first + 1 + at)
  for (const id of numbers) await connectNumber({ workspace, simulatorUrl, id })
  const phoneNumberIds = numbers.map(phoneNumberIdOf)
  const threads = { first: round * THREADS_EACH, end: (round + 1) * THREADS_EACH }
  return { workspace, phoneNumberIds, numbers, threads }
}

/** What a load did. */
export interface LoadResult {
  posted: Posted[]
  reads: Read[]
  /** What a message was answered with that neither takes it nor asks for a repeat. */
  refusal: string | undefined
}

/** Posts messages and reads, each at a steady rate, until it is stopped. */
export function startLoad(options: { lines: Lines; rate: number; readRate: number }): {
  acceptedCount(): number
  stop(): Promise<LoadResult>
} {
  const { lines, rate, readRate } = options
  const { workspace } = lines
  const state = { running: true, acceptedCount: 0, refusal: undefined as string | undefined }
  const posting = postThreads({
    threads: endlessThreads(lines, state),
    gateway: workspace,
    rate,
    inFlight: IN_FLIGHT,
    onAccepted: () => {
      state.acceptedCount++
    },
  }).catch((error: unknown): Posted[] => {
    state.refusal = error instanceof Error ? error.message : String(error)
    return []
  })
  const paths = [
    ...[`/rest/channels/${lines.numbers[0]}`, '/rest/users', '/rest/hooks'],
    ...['/rest/messages?limit=1', '/rest/campaigns'],
  ]
  const reads = startReads({ workspace, paths, rate: readRate })
  return {
    acceptedCount: () => state.acceptedCount,
    async stop() {
      state.running = false
      const [posted, read] = await Promise.all([posting, reads.stop()])
      return { posted, reads: read, refusal: state.refusal }
    },
  }
}

function* endlessThreads(lines: Lines, state: { running: boolean }): Iterable<Iterable<PlannedMessage>> {
  const { numbers, threads } = lines
  for (let count = 0; state.running; count++) {
    const thread = threads.first + count
    const number = numbers[count % numbers.length]
    const line = count % 5 < RPC_OF_FIVE || number === undefined ? {} : { number }
    yield whileRunning(planThread({ run: RUN, thread, messages: PER_THREAD, ...line }), state)
  }
}

function* whileRunning(messages: PlannedMessage[], state: { running: boolean }): Iterable<PlannedMessage> {
  for (const message of messages) {
    if (!state.running) return
    yield message
  }
}
