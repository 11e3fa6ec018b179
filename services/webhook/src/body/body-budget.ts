/** What bodies being read may hold in memory together, beyond a share that each has for free. */
export interface BodyBudget {
  open(): BodyHold
}

export interface BodyHold {
  /** Counts bytes in; false when there is no room for them. */
  take(bytes: number): boolean
  /** Gives back everything that was taken. */
  close(): void
}

/** A budget of `bytes` for all bodies; the first `free` bytes of each don't count. */
export function createBodyBudget({ bytes, free }: { bytes: number; free: number }): BodyBudget {
  let used = 0
  return {
    open() {
      let read = 0
      let counted = 0
      return {
        take(size) {
          const beyond = Math.max(0, read + size - free) - counted
          if (used + beyond > bytes) return false
          read += size
          used += beyond
          counted += beyond
          return true
        },
        close() {
          used -= counted
          counted = 0
        },
      }
    },
  }
}
