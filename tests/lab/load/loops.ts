import { setTimeout as pause } from 'node:timers/promises'

/** Each request waits for its own time in a timer of its own, begun so long before: one timer after the other is late. */
const AHEAD_MS = 50

/** A load that goes on until it is stopped. */
interface OpenLoop<T> {
  /** Resolves once all that was sent is answered, with what each came to; also where the load ends by itself. */
  stop(): Promise<T[]>
  ended: Promise<T[]>
}

/**
 * Sends `rate` requests a second, each at its time, whether earlier ones are answered or not; `most` of them, where that is
 * given. One that finds `inFlight` under way waits, and its wait counts: `from` is when its time is counted from
 * (`performance.now`). Resolves with what each came to, in the sequence of the answers; rejects with the first that does.
 */
export function startOpenLoop<T>(options: {
  rate: number
  inFlight?: number
  most?: number
  send(index: number, from: number): Promise<T>
}): OpenLoop<T> {
  const { rate, inFlight = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, send } = options
  const results: T[] = []
  const underWay = new Set<Promise<void>>()
  const waiting: (() => void)[] = []
  let [free, isStopped] = [inFlight, false]
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {
    isStopped = true
  })
  const one = async (index: number, due: number) => {
    const early = due - performance.now()
    if (early > 0) await pause(early)
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    // A timer may be early, by less than a millisecond.
    if (!isStopped) results.push(await send(index, Math.min(due, performance.now())))
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  const started = performance.now()
  const run = async () => {
    for (let index = 0; index < most && !isStopped; index++) {
      const due = started + (index * 1_000) / rate
      const early = due - performance.now() - AHEAD_MS
      if (early > 0) await pause(early)
      const task = one(index, due).catch(failed.reject)
      underWay.add(task)
      void task.then(() => underWay.delete(task))
    }
    await Promise.all(underWay)
    return results
  }
  const ended = Promise.race([run(), failed.promise])
  return {
    ended,
    stop() {
      isStopped = true
      return ended
    },
  }
}

/**
 * Each of so many workers sends its next request as soon as its last one is answered, until `goesOn`, asked with how many
 * were sent, says no. Resolves with what each came to, in the sequence of the answers; rejects with the first that does.
 */
export async function closedLoop<T>(options: {
  workers: number
  goesOn(count: number): boolean
  send(index: number, worker: number): Promise<T>
}): Promise<T[]> {
  const { workers, goesOn, send } = options
  const results: T[] = []
  let count = 0
  const work = async (_: unknown, worker: number) => {
    while (goesOn(count)) results.push(await send(count++, worker))
  }
  await Promise.all(Array.from({ length: workers }, work))
  return results
}
