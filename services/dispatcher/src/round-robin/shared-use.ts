/** How long a workspace counts as active after something of it. */
export const ACTIVE_MS = 5 * 60_000

/** Whether more than one workspace has been active lately; what one may have is bounded more closely then. */
export class SharedUse {
  readonly #now: () => number
  #last: number | undefined
  /** When two things in a row were of two workspaces. */
  #changedAt = Number.NEGATIVE_INFINITY

  /** `now` is monotonic, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  seen(workspace: number): void {
    if (this.#last !== undefined && this.#last !== workspace) this.#changedAt = this.#now()
    this.#last = workspace
  }

  isShared(): boolean {
    return this.#now() - this.#changedAt < ACTIVE_MS
  }
}
