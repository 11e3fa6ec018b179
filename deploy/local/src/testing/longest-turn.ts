/** The longest time the event loop, which services and test share, was busy at a stretch, in processor time. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let before = process.cpuUsage()
  let done = false
  const tick = () => {
    const { user, system } = process.cpuUsage(before)
    longest = Math.max(longest, (user + system) / 1_000)
    before = process.cpuUsage()
    if (!done) setImmediate(tick)
  }
  setImmediate(tick)
  try {
    await work()
    return longest
  } finally {
    done = true
  }
}
