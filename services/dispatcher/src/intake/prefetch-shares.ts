import { SharedUse } from '../round-robin/ready-threads.ts'

/** Unstored messages in flight that one workspace may have, of the 100 that a partition may have. */
export const SHARE = 20

/**
 * Says when a workspace has its share of the unstored messages of a partition. What is beyond it is stored at
 * once, so that the queue goes on as fast as the store takes batches, and what others have behind it does not wait
 * until it has been run. Storing early costs a second write, so it is done only where other workspaces are active.
 */
export class PrefetchShares {
  readonly #use: SharedUse
  readonly #unstored = new Map<number, number>()

  constructor(now?: () => number) {
    this.#use = new SharedUse(now)
  }

  /** Whether the message that arrived is to be stored at once. */
  arrived(workspace: number): boolean {
    this.#use.seen(workspace)
    const unstored = (this.#unstored.get(workspace) ?? 0) + 1
    this.#unstored.set(workspace, unstored)
    return unstored > SHARE && this.#use.isShared()
  }

  stored(workspace: number): void {
    const unstored = (this.#unstored.get(workspace) ?? 1) - 1
    if (unstored > 0) this.#unstored.set(workspace, unstored)
    else this.#unstored.delete(workspace)
  }
}
