import { isReconciled, type Reconciliation } from '@parley/local/demo/reconciliation'
import { keyOf, LOOK_UP, type Place, placeSchema, REPEATABLE, STEPS } from '../load/conversations.ts'
import type { FunctionCall, Ledger } from '../load/function-endpoint.ts'
import type { Killed } from '../strike/kill-in-turn.ts'
import type { MessageResults, StoredCall } from '../system/message-store.ts'

/** Of the functions those of which the model reads that they may have been done: what fails, or is killed meanwhile. */
const UNCERTAIN_SHARE = 0.1
/** Whose death loses what a model brought: RabbitMQ is not asked for it. */
const LOSES_CALLS = /^(dispatcher(-\d+)?|mongodb)$/
/** How much later than it was made a call may be noted: the simulator is busy, too. */
const NOTED_MS = 5_000

/** A request that the model got; `at` in milliseconds since the epoch. */
export interface ModelRequest {
  /** The person's text, as the model's log has it: no two messages have the same. */
  text: string
  at: number
}

interface ModelCounts {
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

/** The results of the functions, each step of a conversation counted once. */
interface FunctionCounts {
  /** Steps whose effect is there once, by the ledger of the endpoint. */
  once: number
  /** Steps whose effect is there twice. */
  doubled: number
  /** Steps whose effect is not there, which the model reads as failed or uncertain. */
  undone: number
  /** Steps whose model reads nothing of them, or something else than the ledger says. */
  missing: number
  /** Steps of which the model reads that they may have been done. */
  uncertain: number
  /** Calls that began while another one of the same id went on. */
  overlapping: number
  /** Ids that came with the arguments of different steps. */
  changed: number
  threadsOutOfOrder: number
  /** Calls that came again under the id of an earlier one. */
  repeated: number
}

/** Counts effects and calls, which are in the order in which they came, against the steps that were planned. */
export function countCalls(
  {
    calls,
    ledger,
    results,
  }: { calls: readonly FunctionCall[]; ledger: Ledger; results: readonly StoredCall[] },
  planned: readonly Place[],
): FunctionCounts {
  const byId = Map.groupBy(calls, ({ id }) => id)
  const known = new Map(
    results
      .filter(({ tool }) => tool !== LOOK_UP)
      .map(({ tool, args, result }) => [
        keyOf(placeSchema.parse(JSON.parse(args))),
        result && { ...result, isRepeatable: tool === REPEATABLE },
      ]),
  )
  const effectsOf = (place: Place) => ledger.get(keyOf(place)) ?? 0
  const count = (isTrue: (place: Place) => boolean) => planned.filter(isTrue).length
  const isKnown = (place: Place) => {
    const result = known.get(keyOf(place))
    if (result === undefined) return false
    if (result.state === 'done') return effectsOf(place) > 0
    // An earlier attempt may have been done and its answer lost: whoever reads that it failed may make it again.
    return result.uncertain === true || result.isRepeatable || effectsOf(place) === 0
  }
  return {
    once: count((place) => effectsOf(place) === 1),
    doubled: count((place) => effectsOf(place) > 1),
    undone: count((place) => effectsOf(place) === 0 && isKnown(place)),
    missing: count((place) => !isKnown(place)),
    uncertain: count((place) => known.get(keyOf(place))?.uncertain === true),
    overlapping: [...byId.values()].reduce((sum, same) => sum + overlapsOf(same), 0),
    changed: [...byId.values()].filter((same) => new Set(same.map(keyOf)).size > 1).length,
    threadsOutOfOrder: threadsOutOfOrder(calls),
    repeated: calls.length - byId.size,
  }
}

function overlapsOf(same: readonly FunctionCall[]): number {
  return same.filter(({ began }, at) => same.slice(0, at).some(({ ended }) => ended > began)).length
}

/** Threads in which a step was called for the first time after a later one. */
function threadsOutOfOrder(calls: readonly FunctionCall[]): number {
  const seen = new Set<string>()
  const highest = new Map<number, number>()
  const wrong = new Set<number>()
  for (const call of calls) {
    if (seen.has(keyOf(call))) continue
    seen.add(keyOf(call))
    if (call.sequence < (highest.get(call.thread) ?? -1)) wrong.add(call.thread)
    else highest.set(call.thread, call.sequence)
  }
  return wrong.size
}

/** How conversations ended. */
interface EndedCounts {
  conversations: number
  /** Their last text arrived, and once. */
  once: number
  /** Texts that say of no function. */
  unreadable: number
}

/** The outcome of conversations. */
interface ConversationFigures {
  reconciliation: Reconciliation
  ended: EndedCounts
  functions: FunctionCounts
  model: ModelCounts
  /** How many messages are in each state. */
  states: Record<string, number>
}

/** Says in a sentence each what did not hold. */
export function judge(
  { reconciliation, ended, functions, model, states }: ConversationFigures,
  planned: { messages: number; functions: number },
): string[] {
  const { conversations, once } = ended
  const rules: [isTrue: boolean, otherwise: string][] = [
    [once === conversations, `${conversations - once} conversations did not end with their last text once.`],
    [
      isReconciled(reconciliation, planned.messages) && ended.unreadable === 0,
      'Texts to people were lost, doubled or out of order.',
    ],
    [states.delivered === planned.messages, 'Not all messages ended delivered.'],
    [functions.doubled === 0, 'A function had its effect twice.'],
    [functions.changed === 0, 'A function was called under the id of another one.'],
    [functions.overlapping === 0, 'A function was called under one id twice at the same time.'],
    [
      functions.missing === 0 && functions.once + functions.undone === planned.functions,
      'Functions were lost.',
    ],
    [
      functions.uncertain < UNCERTAIN_SHARE * planned.functions,
      `Of ${functions.uncertain} functions it is not known whether they were done.`,
    ],
    [functions.threadsOutOfOrder === 0, 'Functions were called out of order.'],
    [
      model.unexplained === 0,
      `${model.unexplained} calls of the model were repeated without a kill that lost them.`,
    ],
  ]
  return rules.flatMap(([isTrue, otherwise]) => (isTrue ? [] : [otherwise]))
}

/** Counts the conversations whose last text arrived once. */
export function countEnded(
  received: ReadonlyArray<{ thread: number; sequence: number }>,
  { conversations, unreadable }: { conversations: number; unreadable: number },
): EndedCounts {
  const last = received.filter(({ sequence }) => sequence === STEPS.length - 1)
  const byThread = Map.groupBy(last, ({ thread }) => thread)
  return {
    conversations,
    once: [...byThread.values()].filter(({ length }) => length === 1).length,
    unreadable,
  }
}
