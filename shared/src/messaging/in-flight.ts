const SWEEP_MS = 50

/** Something in flight that must end by `deadline`, on the clock of `performance.now`. */
export interface Unconfirmed {
  deadline: number
  /** Called when it has not ended in time, at most 50 ms after. Undefined once it has ended. */
  late: (() => void) | undefined
}

/** The publications in flight. One timer watches all deadlines: one for each would be a part of what a message costs. */
interface InFlight {
  count(): number
  add(one: Unconfirmed): void
  /** Ends it; true when it was still in flight. */
  end(one: Unconfirmed): boolean
  /** Resolves when nothing is in flight. */
  drained(): Promise<void>
}

export function createInFlight(): InFlight {
  let count = 0
  // Those that have ended stay until the next look. A Set's tables, each of which knows the next, would outlive them.
  let waiting: Unconfirmed[] = []
  let timer: NodeJS.Timeout | undefined
  let emptied: (() => void) | undefined
  const look = () => {
    const now = performance.now()
    for (const one of waiting) if (one.deadline <= now) one.late?.()
    waiting = waiting.filter(({ late }) => late !== undefined)
    if (waiting.length > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return {
    count: () => count,
    add(one) {
      count++
      waiting.push(one)
      timer ??= setInterval(look, SWEEP_MS)
    },
    end(one) {
      if (one.late === undefined) return false
      one.late = undefined
      if (--count === 0) emptied?.()
      return true
    },
    drained: () =>
      new Promise((resolve) => {
        emptied = resolve
        if (count === 0) resolve()
      }),
  }
}
