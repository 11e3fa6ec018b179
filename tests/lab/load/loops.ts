import { setTimeout as pause } from 'node:timers/promises'

/** A load that goes on until it is stopped. */
interface OpenLoop<T> {
  /** Resolves once all that was sent is answered, with what each came to; also where the load ends by itself. */
  stop(): Promise<T[]>
  ended: Promise<T[]>
}

/**
 * Sends `rate` requests a second, each at its time, whether earlier ones are answered or not; `most` of them, where that is
 * given. One that finds `inFlight` under way waits, and its wait counts: `from` is when its time is counted from
 * (`performance.now`). Rejects with the first that does.
 */
export function startOpenLoop<T>(options: {
  rate: number
  inFlight?: number
  most?: number
  send(index: number, from: number): Promise<T>
}): OpenLoop<T> {
  const { rate, inFlight = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, send } = options
  const results: Promise<T>[] = []
  let [underWay, isStopped] = [0, false]
  let room = Promise.withResolvers<void>()
  const leave = () => {
    underWay--
    room.resolve()
  }
  const started = performance.now()
  const run = async () => {
    for (let index = 0; index < most && !isStopped; index++) {
      const due = started + (index * 1_000) / rate
      const early = due - performance.now()
      if (early > 0) await pause(early)
      while (underWay >= inFlight) {
        room = Promise.withResolvers()
        await room.promise
      }
      if (isStopped) break
      underWay++
      // A timer may be early, by less than a millisecond.
      const sending = send(index, Math.min(due, performance.now()))
      sending.then(leave, leave)
      results.push(sending)
    }
    return Promise.all(results)
  }
  const ended = run()
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
