import { setTimeout as sleep } from 'node:timers/promises'

const PROBE_MS = 50

/** Asks until the answer passes, for at most a minute, and returns it; throws with the last answer. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  passes: (response: T) => boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const response = await ask()
    if (passes(response)) return response
    if (Date.now() > until) throw new Error(`still not so: ${JSON.stringify(response)?.slice(0, 1_000)}`)
    await sleep(PROBE_MS)
  }
}
