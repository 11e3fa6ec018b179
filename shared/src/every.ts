/**
 * Runs `run` again and again, `pauseMs` after it last ended. A run that rejects is given to `failed`, and the next
 * one follows all the same; `run` bounds its own waits, and does not go on after its `signal` aborts. `stop` waits for
 * the run under way, and may be called more than once; `wake` ends the pause before the next run.
 */
export function every(options: {
  pauseMs: number | (() => number)
  run(signal: AbortSignal): Promise<unknown>
  failed(error: Error): void
}): Loop {
  const { pauseMs, run, failed } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let waking = new AbortController()
  const loop = (async () => {
    while (!signal.aborted) {
      waking = new AbortController()
      await run(signal).catch(failed)
      if (signal.aborted) return
      await pause(typeof pauseMs === 'number' ? pauseMs : pauseMs(), waking.signal)
    }
  })()
  return {
    wake: () => waking.abort(),
    stop: () => {
      stopping.abort()
      waking.abort()
      return loop
    },
  }
}

/** The loop of {@link every}. */
interface Loop {
  wake(): void
  stop(): Promise<void>
}

/**
 * The pause of a loop that looks for what is rarely there: `leastMs` after a look that found something or failed, and
 * twice as long after each that found nothing, up to `mostMs`.
 */
export function createBackOff({ leastMs, mostMs }: { leastMs: number; mostMs: number }): {
  pauseMs(): number
  /** Looks, and notes whether something was found. */
  note(look: () => Promise<boolean>): Promise<void>
} {
  let pauseMs = leastMs
  return {
    pauseMs: () => pauseMs,
    async note(look) {
      const longer = Math.min(2 * pauseMs, mostMs)
      pauseMs = leastMs
      if (!(await look())) pauseMs = longer
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
