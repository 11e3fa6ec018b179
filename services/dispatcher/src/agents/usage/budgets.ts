import { isDuplicate } from '@parley/shared/insert-new'
import { LRUCache } from 'lru-cache'
import type { mongo } from 'mongoose'
import type { Collections } from '../../store/collections.ts'
import { group } from '../../store/group.ts'
import type { UsedTokens } from '../../store/usage-records.ts'
import type { Budget } from './budgets-of.ts'

const QUERY_MS = 5_000
const GATHER_MS = 5
const WRITES_AT_ONCE = 4
/** No call takes less: the prompt of any agent alone is longer. */
const SMALLEST_CALL = 64
const MAX_KNOWN = 50_000
const KNOWN_MS = 10_000
const RETENTION_MS = 3 * 24 * 60 * 60 * 1_000
/** Who waits for calls under way tries again after that, and so long after the one before. */
const PENDING_MS = 200
const SPACING_MS = 20

/** What a call may take: `least` with the shortest answer that is of any use, `full` with the longest. */
interface Required {
  least: number
  full: number
  /** How long its call may take at most, in milliseconds. */
  leaseMs: number
}

/** What a call has of each of its budgets until it is settled. */
export type Reservation = { id: string; tokens: number }[]

type Reserved =
  /** `tokens` is what it may take: `full`, or less where that is all that is left. */
  | { kind: 'reserved'; reservation: Reservation; tokens: number }
  /** There is enough left, but calls under way hold it; to be tried again after so long (milliseconds). */
  | { kind: 'pending'; waitMs: number }
  | { kind: 'spent'; budget: Budget }

/** Counts what is used of budgets, for all instances together. */
export interface Budgets {
  /**
   * Takes out of all of the budgets what a call may take, or out of none. No budget is ever exceeded by what is reserved.
   * Rejects when the database is unavailable; what may have been taken then stays counted.
   */
  reserve(budgets: readonly Budget[], required: Required): Promise<Reserved>
  /** The first budget that is known to be spent, without asking the database; one that is not known may be spent too. */
  spent(budgets: readonly Budget[]): Budget | undefined
  /** Gives back what was not used. */
  settle(settlements: readonly Settlement[]): Promise<void>
}

export interface Settlement {
  reservation: Reservation
  /** What the call took, whatever was reserved. */
  tokens: number
}

interface Asked extends Required {
  id: string
  limit: number
}

/** What one count gave. */
interface Granted {
  tokens: number
  /** What is used of it, without what calls under way hold. */
  settled: number
}

/**
 * A count is one document: `tokens` is all that is used or reserved, `pending` the reserved part of it, `pendingUntil` when the
 * last call under way has ended, be it with its instance. What nobody has settled by then stays counted as reserved,
 * since the provider may have been asked; so a crash needs no clearing up, and never lets a budget be exceeded.
 */
export function createBudgets(options: {
  usedTokens: Collections['usedTokens']
  now: () => number
}): Budgets {
  const { usedTokens, now } = options
  // What is settled of a day only grows, unless a call is settled whose lease was over.
  const known = new LRUCache<string, number>({ max: MAX_KNOWN, ttl: KNOWN_MS })
  const queues = new LRUCache<string, number>({ max: MAX_KNOWN })
  // Many calls at once of one workspace are one write to its count.
  const grant = group<Asked, Granted | Error>({
    work: (batch) => grantAll(usedTokens, batch, now()),
    gatherMs: GATHER_MS,
    atOnce: WRITES_AT_ONCE,
  })
  const settle: Budgets['settle'] = async (settlements) => {
    const writes = settlements.flatMap(({ reservation, tokens }) =>
      reservation.map((part) => settlementOf(part, tokens)),
    )
    if (writes.length > 0) await usedTokens.bulkWrite(writes, { ordered: false })
  }
  /** One behind the other: who waits makes its prompt anew each time. */
  const waitFor = (id: string): number => {
    const at = now()
    const until = Math.max(at + PENDING_MS, (queues.get(id) ?? 0) + SPACING_MS)
    queues.set(id, until)
    return until - at
  }
  return {
    async reserve(budgets, required) {
      const reservation: Reservation = []
      for (const budget of budgets) {
        const { id } = budget
        const limit = budget.limit - (await usedOf(usedTokens, budget.including))
        const granted = await grant({ id, limit, ...required })
        const isGranted = !(granted instanceof Error) && granted.tokens > 0
        if (isGranted) {
          reservation.push({ id, tokens: granted.tokens })
          continue
        }
        if (reservation.length > 0) await settle([{ reservation, tokens: 0 }])
        if (granted instanceof Error) throw granted
        known.set(id, granted.settled)
        if (granted.settled + required.least > limit) return { kind: 'spent', budget }
        return { kind: 'pending', waitMs: waitFor(id) }
      }
      const tokens = Math.min(required.full, ...reservation.map((part) => part.tokens))
      return { kind: 'reserved', reservation, tokens }
    },
    spent: (budgets) => budgets.find(({ id, limit }) => (known.get(id) ?? 0) + SMALLEST_CALL > limit),
    settle,
  }
}

async function usedOf(usedTokens: Collections['usedTokens'], id: string | undefined): Promise<number> {
  if (id === undefined) return 0
  return (await usedTokens.findOne({ _id: id }, { maxTimeMS: QUERY_MS }))?.tokens ?? 0
}

/** One write for each count; one that fails says nothing of the others. */
async function grantAll(
  usedTokens: Collections['usedTokens'],
  batch: Asked[],
  now: number,
): Promise<(Granted | Error)[]> {
  const results: (Granted | Error)[] = []
  const positions = Map.groupBy(batch.keys(), (at) => (batch[at] as Asked).id)
  await Promise.all(
    [...positions].map(async ([id, places]) => {
      const asked = places.map((at) => batch[at] as Asked)
      const granted = await grantOf(usedTokens, { id, asked, now }).catch((error: Error) => error)
      for (const [at, place] of places.entries())
        results[place] = Array.isArray(granted) ? (granted[at] as Granted) : granted
    }),
  )
  return results
}

async function grantOf(
  usedTokens: Collections['usedTokens'],
  { id, asked, now }: { id: string; asked: Asked[]; now: number },
): Promise<Granted[]> {
  const expiresAt = new Date(now + RETENTION_MS)
  const [first, ...others] = asked
  const whole =
    first && others.length === 0 ? await grantWhole(usedTokens, { id, asked: first, expiresAt }) : undefined
  if (whole !== undefined) return [whole]
  const update = grantUpdate(asked, expiresAt)
  const write = () =>
    usedTokens.findOneAndUpdate({ _id: id }, update, { upsert: true, returnDocument: 'after' })
  // Two that make the same document at once: one of them finds it then.
  const count = await write().catch((error: unknown) => {
    if (!isDuplicate(error)) throw error
    return write()
  })
  const { tokens = 0, pending = 0, granted = [] } = count ?? {}
  return asked.map((_, at) => ({ tokens: granted[at] ?? 0, settled: tokens - pending }))
}

/**
 * All that one may take, where no other call of the count is under way: what most are, by a write that takes a fraction of the
 * other's time. Undefined where it is not so simple.
 */
async function grantWhole(
  usedTokens: Collections['usedTokens'],
  { id, asked: { limit, full, leaseMs }, expiresAt }: { id: string; asked: Asked; expiresAt: Date },
): Promise<Granted | undefined> {
  if (full > limit) return undefined
  const filter = { _id: id, pending: 0, tokens: { $lte: limit - full } }
  const update = [
    {
      $set: {
        tokens: { $add: [{ $ifNull: ['$tokens', 0] }, full] },
        pending: full,
        pendingUntil: { $add: ['$$NOW', leaseMs] },
        expiresAt: { $ifNull: ['$expiresAt', expiresAt] },
      },
    },
  ]
  const options = { upsert: true, returnDocument: 'after', projection: { tokens: 1 } } as const
  try {
    const count = await usedTokens.findOneAndUpdate(filter, update, options)
    return { tokens: full, settled: (count?.tokens ?? full) - full }
  } catch (error) {
    // It is there, and others use it.
    if (isDuplicate(error)) return undefined
    throw error
  }
}

const LEASE_OVER = { $not: [{ $gt: ['$pendingUntil', '$$NOW'] }] }

/**
 * Each that asks gets all that it may take where there is room for it. Where there is not, and no other call is under way
 * whose end may bring some, it gets what is left, unless that is less than the least.
 */
function grantUpdate(asked: readonly Asked[], expiresAt: Date): mongo.Document[] {
  const leaseMs = Math.max(...asked.map((one) => one.leaseMs))
  const required = asked.map(({ limit, least, full }) => ({ limit, least, full }))
  return [
    {
      $set: {
        tokens: { $ifNull: ['$tokens', 0] },
        pending: { $cond: [LEASE_OVER, 0, { $ifNull: ['$pending', 0] }] },
        expiresAt: { $ifNull: ['$expiresAt', expiresAt] },
      },
    },
    {
      $set: {
        granted: {
          $reduce: {
            input: { $literal: required },
            initialValue: [],
            in: { $concatArrays: ['$$value', [grantExpression({ before: { $sum: '$$value' } })]] },
          },
        },
      },
    },
    {
      $set: {
        tokens: { $add: ['$tokens', { $sum: '$granted' }] },
        pending: { $add: ['$pending', { $sum: '$granted' }] },
      },
    },
    {
      $set: {
        pendingUntil: {
          $cond: [
            { $gt: [{ $sum: '$granted' }, 0] },
            { $max: ['$pendingUntil', { $add: ['$$NOW', leaseMs] }] },
            '$pendingUntil',
          ],
        },
      },
    },
  ]
}

/** `before` is what those before it in the same write get. */
function grantExpression({ before }: { before: mongo.Document }): mongo.Document {
  const room = { $subtract: ['$$this.limit', { $add: ['$tokens', before] }] }
  const isAlone = { $lte: [{ $add: ['$pending', before] }, 0] }
  const isRest = { $and: [isAlone, { $gte: [room, '$$this.least'] }] }
  return { $cond: [{ $gte: [room, '$$this.full'] }, '$$this.full', { $cond: [isRest, room, 0] }] }
}

function settlementOf(
  { id, tokens: reserved }: Reservation[number],
  tokens: number,
): mongo.AnyBulkWriteOperation<UsedTokens> {
  const pending = { $max: [0, { $subtract: [{ $ifNull: ['$pending', 0] }, reserved] }] }
  const all = { $max: [0, { $add: ['$tokens', tokens - reserved] }] }
  return { updateOne: { filter: { _id: id }, update: [{ $set: { tokens: all, pending } }] } }
}
