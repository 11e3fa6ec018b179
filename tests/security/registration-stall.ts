import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { watchEventLoop } from './event-loop-watch.ts'

const ALONE_MS = 5_000
const REGISTERING_MS = 10_000
const AT_ONCE = 8
const NANOSECONDS = 1e6

/** Delays of identity's event loop, in milliseconds. */
export interface StallResult {
  alone: { p99: number; max: number }
  registering: { p99: number; max: number }
  /** The p99 of this process's own event loop meanwhile: what there is of it is the machine's doing. */
  own: number
  registrations: number
}

/** Measures the delay of identity's event loop, first without registrations, then beside 8 at any time. */
export async function watchRegistrations(options: {
  pid: number
  register(): Promise<void>
}): Promise<StallResult> {
  const watch = await watchEventLoop(options.pid)
  try {
    await watch.begin()
    await delay(ALONE_MS)
    const alone = await watch.read()
    await watch.begin()
    const own = monitorEventLoopDelay({ resolution: 5 })
    own.enable()
    const until = performance.now() + REGISTERING_MS
    let registrations = 0
    const oneAfterTheOther = async () => {
      while (performance.now() < until) {
        await options.register()
        registrations++
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, oneAfterTheOther))
    own.disable()
    const registering = await watch.read()
    return { alone, registering, own: own.percentile(99) / NANOSECONDS, registrations }
  } finally {
    await watch.close()
  }
}
