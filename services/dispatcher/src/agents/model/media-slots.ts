import { RoomQueue } from './room-queue.ts'

/** Calls that see, in one process: each has up to 8 MiB of images in memory, thrice. */
const SEEING_AT_ONCE = 16
/** Calls that hear: each has up to 16 MiB of audio in memory, twice. */
const HEARING_AT_ONCE = 8

/** What a call has in memory while it is made. */
export type MediaKind = 'images' | 'audio'

/** The slots of one process for what its calls have in memory. */
export function createMediaSlots(): Record<MediaKind, MediaSlots> {
  return { images: new MediaSlots(SEEING_AT_ONCE), audio: new MediaSlots(HEARING_AT_ONCE) }
}

/**
 * Slots that workspaces share. One may take another while it has fewer than are free (dynamic thresholds of Choudhury
 * and Hahne, 1998): alone it has half of them, and whoever comes then finds some, however long its calls take.
 */
export class MediaSlots {
  readonly #most: number
  readonly #taken = new Map<number, number>()
  readonly #waiting = new RoomQueue((workspace) => this.#hasRoom(workspace))
  #all = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Takes a slot, and returns what gives it back; undefined where the workspace may have none now. */
  take(workspace: number): (() => void) | undefined {
    if (!this.#hasRoom(workspace)) return undefined
    this.#count(workspace, 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#count(workspace, -1)
      this.#waiting.admit(1)
    }
  }

  /** Resolves when there may be a slot for the workspace. */
  room(workspace: number): Promise<void> {
    return this.#waiting.add(workspace)
  }

  #hasRoom(workspace: number): boolean {
    return (this.#taken.get(workspace) ?? 0) < this.#most - this.#all
  }

  #count(workspace: number, change: 1 | -1): void {
    const taken = (this.#taken.get(workspace) ?? 0) + change
    this.#all += change
    if (taken > 0) this.#taken.set(workspace, taken)
    else this.#taken.delete(workspace)
  }
}
