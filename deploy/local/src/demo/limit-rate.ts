import { setTimeout as pause } from 'node:timers/promises'

/** Makes at most `rate` calls a second, evenly spaced. */
export function limitRate<A extends unknown[], R>(
  rate: number,
  call: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  let next = performance.now()
  return async (...args) => {
    next = Math.max(next + 1_000 / rate, performance.now())
    await pause(Math.max(0, next - performance.now()))
    return call(...args)
  }
}
