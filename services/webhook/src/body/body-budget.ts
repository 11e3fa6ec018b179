/** Why there is no room for more of a body: its sender's bodies together have too much, or those of all. */
export type NoRoom = 'sender' | 'all'

/** The memory that bodies being read may take together, beyond a share that each has for free. */
export interface BodyBudget {
  /** Opens the account of one body of the sender that `sender` names. */
  open(sender: string): BodyReservation
}

export interface BodyReservation {
  /** Counts bytes in; says why, when there is no room for them. */
  take(bytes: number): NoRoom | undefined
  /** Gives back everything that was taken. */
  close(): void
}

/** A budget of `bytes` for all bodies, and of `perSender` for those of one; the first `free` bytes of each don't count. */
export function createBodyBudget(limits: { bytes: number; perSender: number; free: number }): BodyBudget {
  const bySender = new Map<string, number>()
  let used = 0
  const add = (sender: string, bytes: number) => {
    const own = (bySender.get(sender) ?? 0) + bytes
    used += bytes
    if (own === 0) bySender.delete(sender)
    else bySender.set(sender, own)
  }
  return {
    open(sender) {
      let read = 0
      let counted = 0
      return {
        take(size) {
          const beyond = Math.max(0, read + size - limits.free) - counted
          if (beyond > 0 && (bySender.get(sender) ?? 0) + beyond > limits.perSender) return 'sender'
          if (beyond > 0 && used + beyond > limits.bytes) return 'all'
          read += size
          counted += beyond
          if (beyond > 0) add(sender, beyond)
          return undefined
        },
        close() {
          if (counted > 0) add(sender, -counted)
          counted = 0
        },
      }
    },
  }
}
