import { Fifo, SharedUse } from '../round-robin/ready-threads.ts'

/** Messages that one workspace may run unstored, of the 100 that a partition may have in flight. */
export const SHARE = 20

interface Running<T> {
  count: number
  /** Those that run, and such as have ended behind the first one that runs. */
  inSequence: Fifo<T>
}

/**
 * Says which messages are to be stored at once because their workspace has its share of what runs unstored in a
 * partition: the oldest. Deliveries are acked in sequence, so that a queue whose first ones are stored goes on as fast
 * as the store takes batches, and what others have behind them does not wait until they have been run. Storing early
 * costs a second write, so it is done only where other workspaces are active.
 */
export class PrefetchShares<T extends object> {
  readonly #isRunning: (message: T) => boolean
  readonly #use: SharedUse
  readonly #running = new Map<number, Running<T>>()

  /** `isRunning`: whether it still runs unstored, with no insert asked for. */
  constructor({ isRunning, now }: { isRunning(message: T): boolean; now?: () => number }) {
    this.#isRunning = isRunning
    this.#use = new SharedUse(now)
  }

  /** A message begins to run unstored; returns those that are to be stored at once. */
  began(workspace: number, message: T): T[] {
    this.#use.seen(workspace)
    const running = this.#running.get(workspace) ?? { count: 0, inSequence: new Fifo<T>() }
    this.#running.set(workspace, running)
    running.count++
    running.inSequence.push(message)
    this.#dropEnded(running)
    const surplus = this.#use.isShared() ? running.count - SHARE : 0
    const oldest: T[] = []
    while (oldest.length < surplus) {
      const next = running.inSequence.take()
      if (next === undefined) break
      if (this.#isRunning(next)) oldest.push(next)
    }
    return oldest
  }

  /** It runs unstored no more: it is to be inserted, or left to others. Said once of each that began. */
  ended(workspace: number): void {
    const running = this.#running.get(workspace)
    if (running === undefined) return
    running.count--
    if (running.count === 0) this.#running.delete(workspace)
  }

  #dropEnded({ inSequence }: Running<T>): void {
    while (inSequence.first !== undefined && !this.#isRunning(inSequence.first)) inSequence.take()
  }
}
