/** What a message may wait for before it is run (again). */
export type WaitingFor =
  /** Its next try, after one that failed. */
  | 'retry'
  /** The rate of its provider's number. */
  | 'rate'
  /** An endpoint that did not answer lately: a circuit breaker is open. */
  | 'circuit_breaker'
  /** Other calls to the same host to end. */
  | 'host'
  /** A status of a send whose outcome is uncertain. */
  | 'status'
  /** A channel or an action that may be configured in a moment. */
  | 'configuration'
  /** The broker or the store, which is unavailable. */
  | 'server'

/** As {@link WaitingFor}, or inside the dispatcher. */
export type Waiting =
  | WaitingFor
  /** The answer to a call that is under way. */
  | 'answer'
  /** The turn of its workspace. */
  | 'turn'
  /** Those before it in its thread, or room in memory. */
  | 'thread'

/** How many messages wait for something, and when the oldest of them came (milliseconds since the epoch). */
export type WaitingCounts = Map<Waiting, { messages: number; oldestAt: number }>
