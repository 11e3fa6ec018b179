import { insertNew } from '@parley/shared/insert-new'
import type { JsonObject } from '@parley/shared/json-object'
import type { Log } from '@parley/shared/log'
import { isUnavailable } from '@parley/shared/unavailable'
import { LRUCache } from 'lru-cache'
import type { MessageRecord } from '../../message/message-record.ts'
import { ranAgainAt } from '../../message/progress.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Collections } from '../../store/collections.ts'
import { group } from '../../store/group.ts'
import { dayOf, type UsageDimensions, type UsageEntry, usageEntry } from '../../store/usage-records.ts'
import type { ModelChoice, ModelResult } from '../model-client.ts'

const GATHER_MS = 20
/** Whoever waits for an entry to be written goes on after that. */
const PATIENCE_MS = 2_000
const WRITE_FOR_MS = 60_000
const WRITE_AGAIN_MS = 500
const FRESH_MS = 1_000
const MAX_CHANNELS = 10_000
const USED_RETENTION_MS = 3 * 24 * 60 * 60 * 1_000
const QUERY_MS = 5_000

/** What the attempts of a message say where the day's tokens were spent. */
export const BUDGET_SPENT = 'budget_spent'

/** A call of a model before it is made: under which ids it counts. */
export interface ModelUse extends UsageDimensions {
  /** Of its answer: the same for the turn of a message, however often a crash makes it ask. */
  answer: string
  failure: string
  /** The message, where it is its first call. */
  message?: string | undefined
  /** The message, where it is its first call of this model. */
  ofModel?: string | undefined
  /** Whether its answer is a turn. */
  isTurn: boolean
}

/** What a call took; tokens of an answer, be it one that is thrown away. */
interface Called {
  kind: 'answered' | 'failed'
  ms: number
  inputTokens?: number
  outputTokens?: number
}

/** What models are used for, and whether more may be used. */
export interface Usage {
  /** Notes a call; resolves once that is written, or after 2 s. Never rejects. */
  note(use: ModelUse, called: Called): Promise<void>
  /** The answer, once its call is noted. One that was aborted, whose message is run elsewhere, did not fail. */
  meter(use: ModelUse, answer: Promise<ModelResult>, signal: AbortSignal): Promise<ModelResult>
  /**
   * Whether a channel has used its `config.dailyTokens` today (UTC), as of a second ago; what its assistant was tried
   * with counts too. Rejects when the database is unavailable.
   */
  isSpent(channel: { workspace: number; extId: string; config: JsonObject }): Promise<boolean>
}

type UsageCollections = Pick<Collections, 'usage' | 'usedTokens'>

/** Notes each call as a document of its own, many at once, and adds its tokens to what its channel has used today. */
export function createUsage(options: {
  collections: UsageCollections
  metrics: Pick<Metrics, 'modelCalled'>
  log: Log
  now: () => number
}): Usage {
  const { collections, metrics, log, now } = options
  const write = group<UsageEntry[], void>({
    work: (batch) => writeBatch(collections, batch.flat()).then(() => batch.map(() => undefined)),
    gatherMs: GATHER_MS,
    gathersAtRest: true,
    atOnce: 1,
  })
  const used = usedTokensOf(collections, now)
  const usage: Usage = {
    async note(use, called) {
      const { provider } = use
      const { kind: outcome, ms, inputTokens = 0, outputTokens = 0 } = called
      metrics.modelCalled({ provider, outcome, seconds: ms / 1_000, inputTokens, outputTokens })
      const written = write(entriesOf(use, called, new Date(now()))).catch((err: unknown) =>
        log.error({ err }, 'what a model was used for is not counted'),
      )
      await withPatience(written)
    },
    async meter(use, answer, signal) {
      const started = performance.now()
      const result = await answer
      if (result.kind === 'answered') await usage.note(use, { ...result.turn, kind: 'answered' })
      else if (!signal.aborted)
        await usage.note(use, { ...result, kind: 'failed', ms: performance.now() - started })
      return result
    },
    async isSpent({ workspace, extId, config }) {
      const { dailyTokens, assistantId } = config
      if (typeof dailyTokens !== 'number' || !Number.isFinite(dailyTokens)) return false
      const of = { workspace, day: dayOf(new Date(now())) }
      const counted = await Promise.all([
        used(usedId({ ...of, channel: extId })),
        used(usedId({ ...of, channel: null, assistant: Number(assistantId) })),
      ])
      return counted[0] + counted[1] >= dailyTokens
    },
  }
  return usage
}

/** The ids that a call for a message's turn counts under. A message that is run again is the same message. */
export function useForTurn(
  record: Pick<
    MessageRecord,
    '_id' | 'workspace' | 'channel' | 'order' | 'tries' | 'turns' | 'attempts' | 'timeline'
  >,
  { assistant, choice }: { assistant: number; choice: Pick<ModelChoice, 'provider' | 'model'> },
): ModelUse {
  const { _id, workspace, channel, order, tries, turns = [] } = record
  const { provider, model } = choice
  const answer = `${_id}:${turns.length}`
  const since = ranAgainAt(record)
  const wasAsked = record.attempts.some(
    ({ at, step, code }) => step === 'model' && code !== BUDGET_SPENT && at.getTime() < since,
  )
  const isNew = turns.length === 0 && !wasAsked
  const isNewToModel = !wasAsked && !turns.some((one) => one.provider === provider && one.model === model)
  return {
    ...{ workspace, channel, assistant, provider, model, answer },
    failure: `${answer}:${order}:${tries}`,
    message: isNew ? _id : undefined,
    ofModel: isNewToModel ? _id : undefined,
    isTurn: true,
  }
}

function entriesOf(
  use: ModelUse,
  { kind, ms, inputTokens = 0, outputTokens = 0 }: Called,
  at: Date,
): UsageEntry[] {
  const { workspace, channel, assistant, provider, model } = use
  const of = { workspace, channel, assistant, provider, model, at }
  const succeeded = kind === 'answered'
  const entries = [
    usageEntry(succeeded ? use.answer : use.failure, of, {
      ...{ modelMs: Math.round(ms), inputTokens, outputTokens },
      ...(succeeded ? { turns: use.isTurn ? 1 : 0 } : { errors: 1 }),
    }),
  ]
  if (use.message !== undefined) entries.push(usageEntry(`${use.message}#`, of, { messages: 1 }))
  if (use.ofModel !== undefined)
    entries.push(usageEntry(`${use.ofModel}#${provider}/${model}`, of, { modelMessages: 1 }))
  return entries
}

/** While the database is unavailable it is tried again, for a minute. */
async function writeBatch(collections: UsageCollections, entries: UsageEntry[]): Promise<void> {
  const deadline = performance.now() + WRITE_FOR_MS
  let known: Set<string> | undefined
  for (;;) {
    try {
      // Before the first insert, whose answer may be lost: what it brought in is not to be taken for known.
      known ??= await knownOf(collections, entries)
      await insertNew(collections.usage, entries)
      const before = known
      return await addTokens(
        collections,
        entries.filter(({ _id }) => !before.has(_id)),
      )
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, WRITE_AGAIN_MS))
    }
  }
}

async function knownOf({ usage }: UsageCollections, entries: UsageEntry[]): Promise<Set<string>> {
  const ids = entries.map(({ _id }) => _id)
  const known = await usage.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray()
  return new Set(known.map(({ _id }) => _id))
}

/** A crash between the two writes leaves the tokens of a batch out of the budget, never out of the usage. */
async function addTokens({ usedTokens }: UsageCollections, entries: UsageEntry[]): Promise<void> {
  const tokens = new Map<string, number>()
  for (const { workspace, channel, assistant, at, inputTokens, outputTokens } of entries) {
    const id = usedId({ workspace, channel, assistant, day: dayOf(at) })
    tokens.set(id, (tokens.get(id) ?? 0) + inputTokens + outputTokens)
  }
  const writes = [...tokens].filter(([, count]) => count > 0)
  if (writes.length === 0) return
  const expiresAt = new Date(Date.now() + USED_RETENTION_MS)
  await usedTokens.bulkWrite(
    writes.map(([_id, count]) => ({
      updateOne: {
        filter: { _id },
        update: { $inc: { tokens: count }, $setOnInsert: { expiresAt } },
        upsert: true,
      },
    })),
    { ordered: false },
  )
}

function usedId(of: { workspace: number; day: string; channel: string | null; assistant?: number }): string {
  const { workspace, day, channel, assistant } = of
  return JSON.stringify(channel === null ? [workspace, day, assistant] : [workspace, day, channel])
}

/** One read a second for each channel that has a budget, however many messages ask. */
function usedTokensOf({ usedTokens }: UsageCollections, now: () => number) {
  const cache = new LRUCache<string, number>({
    max: MAX_CHANNELS,
    ttl: FRESH_MS,
    perf: { now },
    fetchMethod: async (_id) => (await usedTokens.findOne({ _id }, { maxTimeMS: QUERY_MS }))?.tokens ?? 0,
  })
  return async (id: string): Promise<number> => (await cache.fetch(id)) ?? 0
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
