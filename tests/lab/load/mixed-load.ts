import type { PlannedMessage } from '@parley/local/demo/demo-plan'
import { type Posted, postThreads } from '@parley/local/demo/post-threads'
import { registerWorkspace, type Workspace } from '../system/workspace.ts'
import { connectNumber, connectRpc, phoneNumberIdOf, planThread } from './lines.ts'
import { startOpenLoop } from './loops.ts'

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
  workspace: Workspace
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

/** The results of a load. */
export interface LoadResult extends PostingResult {
  reads: Read[]
}

/** Posts messages and reads, each at a steady rate, until it is stopped. */
export function startLoad(options: { lines: Lines; rate: number; readRate: number }): {
  acceptedCount(): number
  stop(): Promise<LoadResult>
} {
  const { lines, rate, readRate } = options
  const { workspace, numbers, threads } = lines
  const posting = startPosting({
    ...{ workspace, rate, inFlight: IN_FLIGHT },
    threadAt(count) {
      const number = numbers[count % numbers.length]
      const line = count % 5 < RPC_OF_FIVE || number === undefined ? {} : { number }
      return planThread({ run: RUN, thread: threads.first + count, messages: PER_THREAD, ...line })
    },
  })
  const paths = [
    ...[`/rest/channels/${numbers[0]}`, '/rest/users', '/rest/hooks'],
    ...['/rest/messages?limit=1', '/rest/campaigns'],
  ]
  const reading = startReads({ workspace, paths, rate: readRate })
  return {
    acceptedCount: posting.acceptedCount,
    async stop() {
      const [posted, reads] = await Promise.all([posting.stop(), reading.stop()])
      return { ...posted, reads }
    },
  }
}

interface PostingResult {
  posted: Posted[]
  /** An answer to a message that neither takes it nor asks for a repeat. */
  refusal: string | undefined
}

/** Posts thread after thread, `rate` messages a second, until it is stopped. */
export function startPosting(options: {
  workspace: Workspace
  rate: number
  inFlight: number
  /** The messages of each thread, counted from 0. */
  threadAt(count: number): readonly PlannedMessage[]
}): { acceptedCount(): number; stop(): Promise<PostingResult> } {
  const { workspace, rate, inFlight, threadAt } = options
  let [isStopped, accepted] = [false, 0]
  let refusal: string | undefined
  function* untilStopped(messages: readonly PlannedMessage[]) {
    for (const message of messages) {
      if (isStopped) return
      yield message
    }
  }
  function* threads() {
    for (let count = 0; !isStopped; count++) yield untilStopped(threadAt(count))
  }
  const onAccepted = () => void accepted++
  const posting = postThreads({ threads: threads(), gateway: workspace, rate, inFlight, onAccepted }).catch(
    (error: unknown): Posted[] => {
      refusal = error instanceof Error ? error.message : String(error)
      return []
    },
  )
  return {
    acceptedCount: () => accepted,
    async stop() {
      isStopped = true
      return { posted: await posting, refusal }
    },
  }
}

/** The outcome of a read: its status; `broken` where the connection ended, `hung` where nothing came for 15 s. */
export interface Read {
  path: string
  outcome: number | 'broken' | 'hung'
  /** True if an answer that is not 200 says when to come again. */
  saysWhen: boolean
  /** By `performance.now()`. */
  at: number
  ms: number
}

/** Reads the paths in turn, `rate` a second, each at its time whether or not the last one was answered. */
export function startReads(options: { workspace: Workspace; paths: string[]; rate: number }) {
  const { workspace, paths, rate } = options
  return startOpenLoop({ rate, send: (index) => read(workspace, paths[index % paths.length] ?? '') })
}

async function read(workspace: Workspace, path: string): Promise<Read> {
  const at = performance.now()
  const ended = () => ({ path, at, ms: performance.now() - at })
  try {
    const answer = await workspace.request('GET', path)
    await answer.arrayBuffer()
    return { ...ended(), outcome: answer.status, saysWhen: answer.headers.has('retry-after') }
  } catch (error) {
    const hung = error instanceof Error && error.name === 'TimeoutError'
    return { ...ended(), outcome: hung ? 'hung' : 'broken', saysWhen: false }
  }
}
