import { setTimeout as pause } from 'node:timers/promises'

/** Lets `rate` calls a second through, evenly. */
export function paced<A extends unknown[], R>(
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
