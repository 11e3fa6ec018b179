import { setTimeout as sleep } from 'node:timers/promises'

const PROBE_MS = 50

/** Asks until the answer passes, for at most `withinMs`, and returns it; throws with the last answer. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  passes: (answer: T) => boolean,
  withinMs = 15_000,
): Promise<T> {
  const until = Date.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (passes(answer)) return answer
    if (Date.now() > until) throw new Error(`still not so: ${JSON.stringify(answer)?.slice(0, 1_000)}`)
    await sleep(PROBE_MS)
  }
}
