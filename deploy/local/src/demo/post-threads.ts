import { setTimeout as pause } from 'node:timers/promises'
import { SetupError } from '../setup-error.ts'
import type { PlannedMessage } from './demo-plan.ts'
import type { GatewayClient } from './gateway-client.ts'

const REPEAT_FOR_MS = 60_000
const REPEAT_AFTER_MS = 200
const MAX_PAUSE_MS = 5_000
/** Not known to be safe: to be repeated under the same key. */
const REPEATED = new Set([409, 429, 502, 503, 504])

/** A message that was posted; times in milliseconds since the epoch. */
export interface Posted {
  thread: number
  sequence: number
  postedAt: number
  /** When the 200 came; undefined when it did not come within a minute. */
  acceptedAt: number | undefined
  repeats: number
}

/**
 * Posts each thread's messages one after another, at most `inFlight` threads at the same time, and at most `rate` new
 * messages a second; one that is refused is posted again when the gateway says, whatever waits for its turn.
 */
export async function postThreads(options: {
  threads: Iterable<Iterable<PlannedMessage>>
  gateway: Pick<GatewayClient, 'postMessage'>
  inFlight: number
  rate?: number
  onAccepted(): void
}): Promise<Posted[]> {
  const { threads, gateway, inFlight, rate, onAccepted } = options
  const turn = rate === undefined ? async () => {} : limitRate(rate)
  const posted: Posted[] = []
  const waiting = Iterator.from(threads)
  const work = async () => {
    for (const thread of waiting) {
      for (const message of thread) {
        await turn()
        const result = await post(message, gateway)
        posted.push(result)
        // The messages after one that may be lost would only arrive out of order.
        if (result.acceptedAt === undefined) break
        onAccepted()
      }
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return posted
}

async function post(message: PlannedMessage, gateway: Pick<GatewayClient, 'postMessage'>): Promise<Posted> {
  const { thread, sequence } = message
  const postedAt = now()
  for (let repeats = 0; ; repeats++) {
    const response = await attempt(message, gateway)
    if (response?.status === 200) return { thread, sequence, postedAt, acceptedAt: now(), repeats }
    if (response !== undefined && !REPEATED.has(response.status)) {
      throw new SetupError(`The gateway responded with ${response.status} to a message.`)
    }
    if (now() - postedAt > REPEAT_FOR_MS)
      return { thread, sequence, postedAt, acceptedAt: undefined, repeats }
    await pause(response?.pauseMs ?? REPEAT_AFTER_MS)
  }
}

/** Undefined when no response came. */
async function attempt({ body, key }: PlannedMessage, gateway: Pick<GatewayClient, 'postMessage'>) {
  try {
    const response = await gateway.postMessage(body, key)
    await response.arrayBuffer()
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    const pauseMs = Number.isNaN(seconds) ? REPEAT_AFTER_MS : Math.min(seconds * 1_000, MAX_PAUSE_MS)
    return { status: response.status, pauseMs }
  } catch {
    return undefined
  }
}

const now = (): number => performance.timeOrigin + performance.now()

/** Waits for the caller's turn: at most `rate` callers a second have it, evenly spaced. */
function limitRate(rate: number): () => Promise<void> {
  let next = performance.now()
  return async () => {
    next = Math.max(next + 1_000 / rate, performance.now())
    await pause(Math.max(0, next - performance.now()))
  }
}
