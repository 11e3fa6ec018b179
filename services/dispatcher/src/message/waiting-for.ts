/** What a message may wait for before it is run (again). */
const WAITING_FOR = [
  /** Its next try, after one that failed. */
  'retry',
  /** The rate of its provider's number. */
  'rate',
  /** An endpoint that did not answer lately: its circuit breaker is open. */
  'circuit_breaker',
  /** Other calls to the same host to end. */
  'host',
  /** A status of a send whose outcome is uncertain. */
  'status',
  /** A channel or an action that may be configured in a moment. */
  'configuration',
  /** The broker or the store, which is unavailable. */
  'server',
] as const
export type WaitingFor = (typeof WAITING_FOR)[number]

/** The same, or inside of the dispatcher. */
export const WAITING = [
  ...WAITING_FOR,
  /** The answer of a handler or an endpoint, which is being called. */
  'answer',
  /** The turn of its workspace. */
  'turn',
  /** Those before it in its thread, or room in memory. */
  'thread',
] as const
export type Waiting = (typeof WAITING)[number]

/** How many messages wait for something, and when the oldest of them came (milliseconds since the epoch). */
export type WaitingCounts = Map<Waiting, { messages: number; oldestAt: number }>
