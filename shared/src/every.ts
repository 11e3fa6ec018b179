/**
 * Runs `run` again and again, `pauseMs` after it last ended. A run that rejects is given to `failed`, and the next
 * one follows all the same; `run` bounds its own waits, and does not go on after its `signal` aborts. `stop` waits for
 * the run under way, and may be called more than once.
 */
export function every(options: {
  pauseMs: number | (() => number)
  run(signal: AbortSignal): Promise<unknown>
  failed(error: Error): void
}): { stop(): Promise<void> } {
  const { pauseMs, run, failed } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = (async () => {
    while (!signal.aborted) {
      await run(signal).catch(failed)
      await pause(typeof pauseMs === 'number' ? pauseMs : pauseMs(), signal)
    }
  })()
  return {
    stop: () => {
      stopping.abort()
      return loop
    },
  }
}

/** Waits `milliseconds`, or until `signal` aborts; never rejects. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal?.addEventListener('abort', done)
  })
}
