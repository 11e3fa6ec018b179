/**
 * Runs something, and says how long, in milliseconds of processor time of this thread, it held the event loop at most,
 * and by how many MB the process grew. Time is not that of the clock, which other processes of the machine take from.
 */
export async function blockedDuring<T>(
  run: () => Promise<T>,
): Promise<{ result: T; blockedMs: number; grownMb: number }> {
  const before = process.memoryUsage.rss()
  let longest = 0
  let peak = before
  let last = busyMs()
  let turns = 0
  let next: NodeJS.Immediate
  const look = () => {
    const now = busyMs()
    longest = Math.max(longest, now - last)
    last = now
    if (++turns % 50 === 0) peak = Math.max(peak, process.memoryUsage.rss())
    next = setImmediate(look)
  }
  next = setImmediate(look)
  try {
    const result = await run()
    await new Promise(setImmediate)
    return { result, blockedMs: longest, grownMb: (peak - before) / 1024 / 1024 }
  } finally {
    clearImmediate(next)
  }
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
