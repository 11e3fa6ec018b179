/** The part of all that one workspace may have. */
const SHARE = 4
/** The part of all that a workspace may have when others have used up what there is, up to twice of it. */
const RESERVE = 1_000

interface Usage {
  threads: number
  characters: number
}

/**
 * How much of a partition's memory each workspace has: at most a quarter of all, so that the backlog of one does not
 * crowd out another's, and a thousandth in any case.
 */
export class MemoryShare {
  readonly #most: Usage
  readonly #total: Usage = { threads: 0, characters: 0 }
  readonly #used = new Map<number, Usage>()

  constructor(most: Usage) {
    this.#most = most
  }

  get threads(): number {
    return this.#total.threads
  }

  /** True if there is room for more of this workspace. */
  fits(workspace: number, what: keyof Usage): boolean {
    const used = this.#used.get(workspace)?.[what] ?? 0
    const most = this.#most[what]
    if (this.#total[what] < most) return used < most / SHARE
    return this.#total[what] < 2 * most && used < most / RESERVE
  }

  /** True if so many threads have ended that it is worth reading further ones from the store. */
  isHalfFree(workspace: number): boolean {
    const used = this.#used.get(workspace)?.threads ?? 0
    if (this.#total.threads <= this.#most.threads / 2) return used <= this.#most.threads / SHARE / 2
    return used <= this.#most.threads / RESERVE / 2
  }

  change(workspace: number, { threads = 0, characters = 0 }: Partial<Usage>): void {
    const used = this.#used.get(workspace) ?? { threads: 0, characters: 0 }
    for (const usage of [used, this.#total]) {
      usage.threads += threads
      usage.characters += characters
    }
    if (used.threads === 0 && used.characters === 0) this.#used.delete(workspace)
    else this.#used.set(workspace, used)
  }
}
