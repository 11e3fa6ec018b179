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

/** Whether every message was accepted and arrived exactly once, and nothing else did. */
export function exactlyOnce({
  posted,
  refused,
  once,
  strange,
}: { posted: number; refused: number } & DeliveryCounts): boolean {
  return posted > 0 && refused === 0 && once === posted && strange === 0
}
