/** How long a reading counts when no better one comes, in milliseconds. */
const GOOD_FOR_MS = 30_000

/** Another machine's clock, in terms of our own. */
export interface RemoteClock {
  /** Its clock said `theirs` at some moment between `asked` and `answered` of ours (milliseconds since the epoch). */
  observe(reading: { asked: number; answered: number; theirs: number }): void
  /** Our time for a time of theirs. */
  toOurs(theirs: number): number
}

/**
 * Goes by the reading with the shortest round trip, so that a busy event loop, or a slow network, does not shift
 * what was agreed on by the other clock.
 */
export function createRemoteClock(): RemoteClock {
  let best = { roundTrip: Number.POSITIVE_INFINITY, ahead: 0, at: 0 }
  return {
    observe({ asked, answered, theirs }) {
      const roundTrip = answered - asked
      const isOld = answered - best.at > GOOD_FOR_MS
      if (roundTrip > best.roundTrip && !isOld) return
      best = { roundTrip, ahead: theirs - (asked + answered) / 2, at: answered }
    },
    toOurs: (theirs) => theirs - best.ahead,
  }
}
