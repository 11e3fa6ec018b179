/** How long a reading counts when no better one comes, in milliseconds. */
const GOOD_FOR_MS = 30_000
/** What the clocks may move against each other in that time. */
const DRIFT_MS = 50

/** Another machine's clock, in terms of our own. */
interface RemoteClock {
  /** Its clock said `theirs` at some moment between `sentAt` and `receivedAt` of ours (milliseconds since the epoch). */
  observe(reading: { sentAt: number; receivedAt: number; theirs: number }): void
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
    observe({ sentAt, receivedAt, theirs }) {
      const roundTrip = receivedAt - sentAt
      const ahead = theirs - (sentAt + receivedAt) / 2
      const isOld = receivedAt - best.at > GOOD_FOR_MS
      // Each is right to half of its round trip; when they don't meet, one of the clocks was set in between.
      const wasSet = Math.abs(ahead - best.ahead) > (roundTrip + best.roundTrip) / 2 + DRIFT_MS
      if (roundTrip > best.roundTrip && !isOld && !wasSet) return
      best = { roundTrip, ahead, at: receivedAt }
    },
    toOurs: (theirs) => theirs - best.ahead,
  }
}
