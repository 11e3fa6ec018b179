import type { Killed } from './kill-every.ts'

/** Whose death loses what a model brought: RabbitMQ is not asked for it. */
const LOSES_CALLS = /^(dispatcher(-\d+)?|mongodb)$/
/** How much later than it was made a call may be noted: the simulator is busy, too. */
const NOTED_MS = 5_000

/** A request that the model got; `at` in milliseconds since the epoch. */
export interface ModelRequest {
  /** What the person wrote, as the model's log has it: no two messages have the same. */
  text: string
  at: number
}

/** What a message has stored of its model. */
export interface MessageResults {
  text: string
  turns: number
  failures: number
}

export interface ModelCounts {
  calls: number
  /** Whose turn is stored. */
  stored: number
  /** Whose failure is stored. */
  failed: number
  /** All others: what they brought was lost before it was stored. */
  repeated: number
  /** Those of them that no kill explains. */
  unexplained: number
}

/**
 * Counts the calls of the model. A crash costs a message the one call that was under way, so that a message may have as many
 * calls made again as there were kills while its model was asked, however fast the machine is.
 */
export function modelCounts(of: {
  requests: readonly ModelRequest[]
  results: readonly MessageResults[]
  kills: readonly Killed[]
}): ModelCounts {
  const { requests, results, kills } = of
  const resultsOf = new Map(results.map((one) => [one.text, one]))
  const counts = { calls: requests.length, stored: 0, failed: 0, repeated: 0, unexplained: 0 }
  for (const [text, made] of Map.groupBy(requests, (one) => one.text)) {
    const { turns = 0, failures = 0 } = resultsOf.get(text) ?? {}
    const repeated = made.length - turns - failures
    counts.stored += turns
    counts.failed += failures
    counts.repeated += repeated
    counts.unexplained += Math.max(0, repeated - killsDuring(made, kills))
  }
  return counts
}

function killsDuring(made: readonly ModelRequest[], kills: readonly Killed[]): number {
  const times = made.map(({ at }) => at)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  return kills.filter(
    ({ victim, at, until }) => LOSES_CALLS.test(victim) && at <= last && until + NOTED_MS >= first,
  ).length
}
