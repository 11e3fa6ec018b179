/** Who waits is let try, all together, at most so many in a second. */
const MAX_ADMITTED = 64
/** Whoever was given room may not need it any more: so often it is looked whether there is some for the next. */
const ROOM_CHECK_MS = 1_000

/** Who waits for room, by round robin over workspaces. */
export class RoomQueue {
  readonly #hasRoom: (workspace: number) => boolean
  readonly #ofWorkspace = new Map<number, Set<() => void>>()
  #timer: NodeJS.Timeout | undefined

  constructor(hasRoom: (workspace: number) => boolean) {
    this.#hasRoom = hasRoom
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
      const next = this.#ofWorkspace.entries().find(([workspace]) => this.#hasRoom(workspace))
      if (next === undefined) break
      const [workspace, waiting] = next
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
}
