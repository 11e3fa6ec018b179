import { group } from '@parley/shared/group'
import type { Log } from '@parley/shared/log'
import { isUnavailable } from '@parley/shared/unavailable'
import type { MessageRecord } from '../../message/message-record.ts'
import { ranAgainAt } from '../../message/progress.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Collections } from '../../store/collections.ts'
import { dayOf, type UsageDimensions, type UsageEntry, usageEntry } from '../../store/usage-records.ts'
import type { ModelChoice, ModelResult } from '../model-client.ts'
import type { Reservation } from './budget-counts.ts'
import { type Budgets, createBudgets } from './budgets.ts'
import { type Budget, budgetsOf, countId, type Spender } from './budgets-of.ts'
import { type CallEstimate, countedResult, type Tokens } from './counted-result.ts'
import { type UsedByCall, writeUsage } from './write-usage.ts'

const GATHER_MS = 20
/** Whoever waits for an entry to be written goes on after that. */
const PATIENCE_MS = 2_000
const REPORTED_RETENTION_MS = 3 * 24 * 60 * 60 * 1_000
/** A call is settled so long after its time at the latest. */
const SETTLED_MS = 30_000
/** An answer that may be shorter is of no use to anybody. */
const SHORTEST_RESPONSE = 256
/** Where a budget bounds a model that has no `maxOutputTokens`: what all of them take. */
const LONGEST_RESPONSE = 4_096
const UNAVAILABLE_SECONDS = 1

/** The code of attempts that were refused because the day's tokens were spent. */
export const BUDGET_SPENT = 'budget_spent'
/** Calls under way hold what is left of a budget, or nobody can say: it is no try, and to be asked again later. */
export const BUDGET_PENDING = 'budget_pending'

/** A call of a model before it is made: under which ids it counts. */
export interface ModelUse extends UsageDimensions, Spender {
  /** Of its answer: the same for the turn of a message, however often a crash makes it ask. */
  answer: string
  failure: string
  /** The message, where it is its first call. */
  message?: string | undefined
  /** The message, where it is its first call of this model. */
  ofModel?: string | undefined
  /** The kind of its answer. */
  of: 'turn' | 'summary' | 'transcript'
}

/** A call as it is to be made. */
export interface MeteredCall {
  /** Tokens of what is sent, and how many the answer may have where the model's config says so. */
  estimate(): CallEstimate
  timeoutMs: number
  signal: AbortSignal
  /** Makes it; `received` is told what comes, as text. Never rejects. */
  ask(limits: { maxOutputTokens?: number; received(text: string): void }): Promise<ModelResult>
}

/** Records the use of models, and decides if more may be used. */
export interface Usage {
  /**
   * Makes a call where its budgets allow it, and notes what it took: what the provider says, or what is estimated where
   * it says nothing. An answer is as long as the budgets allow. One that was aborted, whose message is run elsewhere,
   * did not fail. Refused as `budget_spent`, or to be tried again as `budget_pending`. Never rejects.
   */
  meter(use: ModelUse, call: MeteredCall): Promise<ModelResult>
  /** Why no call may be made, as far as that is known without asking the database. */
  spent(spender: Spender): string | undefined
  /**
   * Whether the person is told by this message that a budget stops them: the first one that asks, once a day on each
   * channel. Rejects when the database is unavailable.
   */
  isFirstStopped(message: {
    workspace: number
    channel: string
    person: string
    id: string
  }): Promise<boolean>
}

/** The outcome of a call, and the tokens and time that it took. */
interface Called extends Tokens {
  outcome: 'answered' | 'failed'
  ms: number
}

/** Notes each call as a document of its own, many at once, and counts its tokens for the day. */
export function createUsage(options: {
  collections: Pick<Collections, 'usage' | 'usedTokens'>
  /** The tokens of the deployment's own key that a workspace may use in a day. */
  tokensPerDay: number
  metrics: Pick<Metrics, 'modelCalled'>
  log: Log
  now: () => number
}): Usage {
  const { collections, tokensPerDay, metrics, log, now } = options
  const { usedTokens } = collections
  const budgets = createBudgets({ usedTokens, now })
  const write = group<UsedByCall, void>({
    work: (batch) => writeUsage({ collections, budgets, log }, batch).then(() => batch.map(() => undefined)),
    inNoHurry: { milliseconds: GATHER_MS, before: 'each' },
    atOnce: 1,
  })
  const today = () => dayOf(new Date(now()))
  return {
    async meter(use, { estimate, ...call }) {
      const day = today()
      const estimated = once(estimate)
      const bounds = budgetsOf(use, { day, tokensPerDay })
      const reserved = await reserve(budgets, { bounds, estimated, timeoutMs: call.timeoutMs })
      if (reserved.kind === 'refused') return reserved.result
      const { reservation, ...limits } = reserved
      const received: string[] = []
      const started = performance.now()
      const answer = await call.ask({ ...limits, received: (text) => received.push(text) })
      const { result, tokens } = countedResult(answer, { estimate: estimated, received })
      const isAborted = result.kind !== 'answered' && call.signal.aborted
      if (isAborted && reservation.length === 0) return result
      const called: Called =
        result.kind === 'answered'
          ? { outcome: 'answered', ms: result.turn.ms, ...tokens }
          : { outcome: 'failed', ms: performance.now() - started, ...tokens }
      if (!isAborted) metrics.modelCalled({ ...called, provider: use.provider, seconds: called.ms / 1_000 })
      const entries = isAborted ? [] : entriesOf(use, called, new Date(now()))
      const written = write(usedBy(use, { entries, reservation, tokens, day })).catch((err: unknown) =>
        log.error({ err }, 'what a model was used for is not counted'),
      )
      await withPatience(written)
      return result
    },
    spent(spender) {
      const budget = budgets.spent(budgetsOf(spender, { day: today(), tokensPerDay }))
      return budget && reasonOf(budget)
    },
    async isFirstStopped({ workspace, channel, person, id }) {
      const first = { reportedBy: { $ifNull: ['$reportedBy', { $literal: id }] } }
      const expiresAt = { $ifNull: ['$expiresAt', new Date(now() + REPORTED_RETENTION_MS)] }
      const count = await usedTokens.findOneAndUpdate(
        { _id: countId({ workspace, channel, person, day: today() }) },
        [{ $set: { ...first, expiresAt } }],
        { upsert: true, returnDocument: 'after' },
      )
      return count?.reportedBy === id
    },
  }
}

/** Settles the reserved tokens; tokens of a channel without a budget are counted too, for one that it gets later. */
function usedBy(
  use: ModelUse,
  of: { entries: UsageEntry[]; reservation: Reservation; tokens: Tokens; day: string },
): UsedByCall {
  const { entries, reservation, day } = of
  const tokens = of.tokens.inputTokens + of.tokens.outputTokens
  const count = countId({ workspace: use.workspace, day, channel: use.channel ?? use.assistant })
  const [entry] = entries
  const isReserved = reservation.some(({ id }) => id === count)
  return {
    entries,
    ...(reservation.length > 0 && { settlement: { reservation, tokens } }),
    ...(!isReserved && entry !== undefined && { added: { entry: entry._id, count, tokens } }),
  }
}

const reasonOf = ({ limit, setting }: Budget): string =>
  `The tokens of the day are spent: ${limit} (${setting}).`

type ToCall =
  | { kind: 'reserved'; reservation: Reservation; maxOutputTokens?: number }
  | { kind: 'refused'; result: ModelResult }

/** Without a budget nothing is reserved, and the answer is as long as its provider makes it. */
async function reserve(
  budgets: Budgets,
  of: { bounds: Budget[]; estimated(): CallEstimate; timeoutMs: number },
): Promise<ToCall> {
  const { bounds, estimated, timeoutMs } = of
  if (bounds.length === 0) return { kind: 'reserved', reservation: [] }
  const { prompt, maxOutputTokens: longest = LONGEST_RESPONSE } = estimated()
  const required = {
    least: prompt + Math.min(SHORTEST_RESPONSE, longest),
    full: prompt + longest,
    leaseMs: timeoutMs + SETTLED_MS,
  }
  try {
    const reserved = await budgets.reserve(bounds, required)
    if (reserved.kind === 'spent') {
      const reason = reasonOf(reserved.budget)
      return { kind: 'refused', result: { kind: 'refused', code: BUDGET_SPENT, reason } }
    }
    if (reserved.kind === 'pending') return pending(reserved.waitMs / 1_000)
    return { kind: 'reserved', reservation: reserved.reservation, maxOutputTokens: reserved.tokens - prompt }
  } catch (error) {
    if (isUnavailable(error)) return pending(UNAVAILABLE_SECONDS)
    throw error
  }
}

function pending(retryAfterSeconds: number): ToCall {
  const reason = 'Calls that are under way hold what is left of the tokens of the day.'
  return { kind: 'refused', result: { kind: 'retryable', code: BUDGET_PENDING, reason, retryAfterSeconds } }
}

/** The ids that a call for a message's turn counts under. A message that is run again is the same message. */
export function useForTurn(
  record: Pick<
    MessageRecord,
    '_id' | 'workspace' | 'channel' | 'order' | 'tries' | 'turns' | 'attempts' | 'timeline'
  >,
  {
    choice,
    ...of
  }: Pick<Spender, 'assistant' | 'config' | 'person'> & {
    choice: Pick<ModelChoice, 'provider' | 'model' | 'isDeployments'>
  },
): ModelUse {
  const { _id, workspace, channel, order, tries, turns = [] } = record
  const { provider, model, isDeployments = false } = choice
  const answer = `${_id}:${turns.length}`
  const since = ranAgainAt(record)
  const wasAsked = record.attempts.some(
    ({ at, step, code }) => step === 'model' && code !== BUDGET_SPENT && at.getTime() < since,
  )
  const isNew = turns.length === 0 && !wasAsked
  const isNewToModel = !wasAsked && !turns.some((one) => one.provider === provider && one.model === model)
  return {
    ...{ workspace, channel, ...of, provider, model, isDeployments, answer },
    failure: `${answer}:${order}:${tries}`,
    message: isNew ? _id : undefined,
    ofModel: isNewToModel ? _id : undefined,
    of: 'turn',
  }
}

function entriesOf(use: ModelUse, { outcome, ms, ...called }: Called, at: Date): UsageEntry[] {
  const { workspace, channel, assistant, provider, model } = use
  const of = { workspace, channel, assistant, provider, model, at }
  const succeeded = outcome === 'answered'
  // Transcription models report no tokens, and most of them are not paid by tokens.
  const {
    inputTokens,
    outputTokens,
    cachedTokens = 0,
  } = use.of === 'transcript' ? { inputTokens: 0, outputTokens: 0 } : called
  const entries = [
    usageEntry(succeeded ? use.answer : use.failure, of, {
      ...{ modelMs: Math.round(ms), inputTokens, outputTokens, cachedTokens },
      ...(succeeded ? { turns: use.of === 'turn' ? 1 : 0 } : { errors: 1 }),
    }),
  ]
  if (use.message !== undefined) entries.push(usageEntry(`${use.message}#`, of, { messages: 1 }))
  if (use.ofModel !== undefined)
    entries.push(usageEntry(`${use.ofModel}#${provider}/${model}`, of, { modelMessages: 1 }))
  return entries
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function withPatience(written: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS)
    void written.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
