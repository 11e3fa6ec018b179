import { FairSlots, type Release, type SlotLimits } from '@parley/shared/fair-slots'

/** The most waiting calls that are let try in a second, all together. */
const MAX_ADMITTED = 64

/** Whoever was given room may not need it any more: so often it is looked whether there is some for the next. */
const ROOM_CHECK_MS = 1_000

/** A queue for room: next is the workspace that has fewest, in turns where several have as many. */
class RoomQueue {
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

/** Calls that see, in one process: each has up to 8 MiB of images in memory, thrice. */
const SEEING_AT_ONCE: SlotLimits = {
  of: 'calls with images',
  total: 16,
  preempts: 'newest',
  protectedMs: 20_000,
}
/** Calls that hear: each has up to 16 MiB of audio in memory, twice. */
const HEARING_AT_ONCE: SlotLimits = {
  of: 'calls with audio',
  total: 8,
  preempts: 'newest',
  protectedMs: 20_000,
}

/** The kind of media that a call has in memory while it is made. */
export type MediaKind = 'images' | 'audio'

/** The slots of one process for what its calls have in memory. */
export function createMediaSlots(): Record<MediaKind, CallSlots> {
  return { images: new CallSlots(SEEING_AT_ONCE), audio: new CallSlots(HEARING_AT_ONCE) }
}

/** Slots for which messages wait: whoever finds none tries again when there may be some. */
export class CallSlots {
  readonly #slots: FairSlots
  readonly #mayBegin: (workspace: number) => boolean
  readonly #waiting: RoomQueue

  /** `mayBegin`: what else has to hold for a call to begin; {@link admit} is called when it may hold again. */
  constructor(limits: SlotLimits, mayBegin: (workspace: number) => boolean = () => true) {
    this.#slots = new FairSlots(limits)
    this.#mayBegin = mayBegin
    this.#waiting = new RoomQueue({
      hasRoom: (workspace) => this.hasRoom(workspace),
      taken: (workspace) => this.#slots.taken([workspace]),
    })
  }

  hasRoom(workspace: number): boolean {
    return this.#mayBegin(workspace) && this.#slots.hasRoom([workspace])
  }

  /** Takes a slot, and returns what gives it back; undefined where the workspace may have none now. */
  take(workspace: number, preempt?: () => void): Release | undefined {
    if (!this.#mayBegin(workspace)) return undefined
    const release = this.#slots.take([workspace], preempt)
    return release && (() => this.#after(release))
  }

  /** Resolves when there may be a slot for the workspace. */
  room(workspace: number): Promise<void> {
    return this.#waiting.add(workspace)
  }

  #after(release: Release): void {
    release()
    this.#waiting.admit(1)
  }
}
