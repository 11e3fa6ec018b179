/** How often each of the messages of a load arrived. */
export interface DeliveryCounts {
  once: number
  doubled: number
  missing: number
  /** Deliveries of what this load did not post. */
  strange: number
}

/** `arrived` has the number of the message, from 0, of each arrival; `strange` counts those that are known to be of no message. */
export function countDeliveries(options: {
  posted: number
  arrived: readonly number[]
  strange: number
}): DeliveryCounts {
  const { posted, arrived } = options
  const times = new Map<number, number>()
  for (const index of arrived) times.set(index, (times.get(index) ?? 0) + 1)
  const counts = [...times].flatMap(([index, count]) => (index < posted ? [count] : []))
  return {
    once: counts.filter((count) => count === 1).length,
    doubled: counts.filter((count) => count > 1).length,
    missing: posted - counts.length,
    strange: options.strange + arrived.filter((index) => index >= posted).length,
  }
}

/** True if every message was accepted and arrived exactly once, and nothing else did. */
export function exactlyOnce({
  posted,
  refused,
  once,
  strange,
}: { posted: number; refused: number } & DeliveryCounts): boolean {
  return posted > 0 && refused === 0 && once === posted && strange === 0
}

/** A message that was posted: its input is `thread/sequence`. */
export interface PostedInput {
  thread: string
  sequence: number
}

const inputOf = ({ thread, sequence }: PostedInput): string => `${thread}/${sequence}`

/** How many of `expected` are not in `inputs`. */
export function missing(inputs: readonly string[], expected: readonly PostedInput[]): number {
  const there = new Set(inputs)
  return expected.filter((message) => !there.has(inputOf(message))).length
}

/** How many inputs are there more than once. */
export function repeats(inputs: readonly string[]): number {
  return inputs.length - new Set(inputs).size
}

/** How many of `confirmed` come, the first time, after a later one of their thread; without those that are missing. */
export function outOfSequence(inputs: readonly string[], confirmed: readonly PostedInput[]): number {
  const place = new Map<string, number>()
  inputs.forEach((input, at) => {
    if (!place.has(input)) place.set(input, at)
  })
  const last = new Map<string, number>()
  let count = 0
  for (const message of confirmed.toSorted((a, b) => a.sequence - b.sequence)) {
    const at = place.get(inputOf(message))
    if (at === undefined) continue
    if (at < (last.get(message.thread) ?? -1)) count++
    last.set(message.thread, at)
  }
  return count
}

/** Messages that Meta allows a number in a second. */
export const PER_SECOND = 80
const PAIR_BURST = 45
const PAIR_INTERVAL_MS = 6_000

/** A send as the simulator took it; `at` in milliseconds. */
interface Send {
  at: number
  to: string
  phoneNumberId: string
}

/** Sends that a pair's allowance (45 at once, then one each 6 s) did not cover. */
export function pairsTooFast(received: readonly Send[]): number {
  const atRest = new Map<string, number>()
  let count = 0
  for (const { at, to, phoneNumberId } of received) {
    const pair = `${phoneNumberId} ${to}`
    const rest = Math.max(atRest.get(pair) ?? 0, at)
    if (rest - at > PAIR_INTERVAL_MS * (PAIR_BURST - 1)) count++
    atRest.set(pair, rest + PAIR_INTERVAL_MS)
  }
  return count
}
