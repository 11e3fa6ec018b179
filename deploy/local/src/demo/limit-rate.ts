import { setTimeout as pause } from 'node:timers/promises'

/** Waits for the caller's turn: at most `rate` callers a second have it, evenly spaced. */
export function limitRate(rate: number): () => Promise<void> {
  let next = performance.now()
  return async () => {
    next = Math.max(next + 1_000 / rate, performance.now())
    await pause(Math.max(0, next - performance.now()))
  }
}
