/** Who waits is let try, all together, at most so many in a second. */
const MAX_ADMITTED = 64
/** Whoever was given room may not need it any more: so often it is looked whether there is some for the next. */
const ROOM_CHECK_MS = 1_000

/** Who waits for room: next is the workspace that has fewest, in turns where they have as many. */
export class RoomQueue {
  readonly #share: { hasRoom(workspace: number): boolean; taken(workspace: number): number }
  readonly #ofWorkspace = new Map<number, Set<() => void>>()
  #timer: NodeJS.Timeout | undefined

  constructor(share: { hasRoom(workspace: number): boolean; taken(workspace: number): number }) {
    this.#share = share
  }

  add(workspace: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = this.#ofWorkspace.get(workspace) ?? new Set()
    this.#ofWorkspace.set(workspace, waiting.add(resolve))
    this.#timer ??= setInterval(() => this.admit(MAX_ADMITTED), ROOM_CHECK_MS).unref()
    return promise
  }

  /** Lets at most so many try that may have room. */
  admit(most: number): void {
    for (let admitted = 0; admitted < most; admitted++) {
      const workspace = this.#next()
      const waiting = workspace === undefined ? undefined : this.#ofWorkspace.get(workspace)
      if (workspace === undefined || waiting === undefined) break
      const [resolve] = waiting
      if (resolve !== undefined) waiting.delete(resolve)
      this.#ofWorkspace.delete(workspace)
      if (waiting.size > 0) this.#ofWorkspace.set(workspace, waiting)
      resolve?.()
    }
    if (this.#ofWorkspace.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #next(): number | undefined {
    const { hasRoom, taken } = this.#share
    let next: number | undefined
    for (const workspace of this.#ofWorkspace.keys())
      if (hasRoom(workspace) && (next === undefined || taken(workspace) < taken(next))) next = workspace
    return next
  }
}
