/** Runs `task` again and again, `milliseconds` after it last ended. `stop` waits for the one under way. */
export function runEvery(
  milliseconds: number | (() => number),
  task: () => Promise<void>,
): { stop(): Promise<void> } {
  let stopped = false
  let wake: (() => void) | undefined
  const loop = (async () => {
    while (!stopped) {
      await task()
      if (stopped) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, typeof milliseconds === 'number' ? milliseconds : milliseconds())
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  })()
  return {
    stop: async () => {
      stopped = true
      wake?.()
      await loop
    },
  }
}
