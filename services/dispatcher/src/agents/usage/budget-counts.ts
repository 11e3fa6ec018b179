import { isDuplicate } from '@parley/shared/insert-new'
import { mongo } from 'mongoose'
import type { Collections } from '../../store/collections.ts'
import type { UsedTokens } from '../../store/usage-records.ts'

// A count is one document: `tokens` is all that is used or reserved, `pending` the reserved part of it, `pendingUntil` when the
// last call under way has ended, be it with its instance. What nobody has settled by then stays counted as reserved,
// since the provider may have been asked; so a crash needs no clearing up, and never lets a budget be exceeded.

const QUERY_MS = 5_000
const RETENTION_MS = 3 * 24 * 60 * 60 * 1_000

/** The tokens a call may take: `least` with the shortest answer of any use, `full` with the longest. */
export interface Required {
  least: number
  full: number
  /** How long its call may take at most, in milliseconds. */
  leaseMs: number
}

/** The tokens that a call holds of each of its budgets until it is settled. */
export type Reservation = { id: string; tokens: number }[]

export interface Settlement {
  reservation: Reservation
  /** The tokens that the call took, independent of its reservation. */
  tokens: number
}

/** The tokens that a call asks of one count. */
export interface Asked extends Required {
  id: string
  limit: number
}

/** The tokens that one count granted. */
export interface Granted {
  tokens: number
  /** The used tokens, without those that calls in flight hold. */
  settled: number
}

export async function usedOf(usedTokens: Collections['usedTokens'], id: string | undefined): Promise<number> {
  if (id === undefined) return 0
  return (await usedTokens.findOne({ _id: id }, { maxTimeMS: QUERY_MS }))?.tokens ?? 0
}

/** One write for each count; one that fails says nothing of the others. */
export async function grantAll(
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
  const update = grantUpdate(asked, new Date(now + RETENTION_MS))
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
 * Whether each got all that it may take. One update for each count, which matches where there is room for all that ask;
 * where there is not, the insert in its place finds the count there, as a duplicate.
 */
export async function grantAllFull(
  usedTokens: Collections['usedTokens'],
  batch: Asked[],
  now: number,
): Promise<boolean[]> {
  const counts = [...Map.groupBy(batch, ({ id }) => id).values()].map(together).filter(isPossible)
  if (counts.length === 0) return batch.map(() => false)
  const expiresAt = new Date(now + RETENTION_MS)
  const writes = counts.map((count) => grantFullOperation(count, expiresAt))
  const refused = await refusedBy(usedTokens.bulkWrite(writes, { ordered: false }))
  const granted = new Set(counts.flatMap(({ id }, at) => (refused.includes(at) ? [] : id)))
  return batch.map(({ id }) => granted.has(id))
}

export const isPossible = ({ full, limit }: Asked): boolean => full <= limit

/** Combines several requests to one count into one. */
function together(asked: Asked[]): Asked {
  return asked.reduce((all, one) => ({
    id: one.id,
    least: all.least + one.least,
    full: all.full + one.full,
    limit: Math.min(all.limit, one.limit),
    leaseMs: Math.max(all.leaseMs, one.leaseMs),
  }))
}

function grantFullOperation(
  { id, full, limit, leaseMs }: Asked,
  expiresAt: Date,
): mongo.AnyBulkWriteOperation<UsedTokens> {
  const update = [
    {
      $set: {
        tokens: { $add: [{ $ifNull: ['$tokens', 0] }, full] },
        pending: { $add: [PENDING, full] },
        pendingUntil: { $max: ['$pendingUntil', { $add: ['$$NOW', leaseMs] }] },
        expiresAt: { $ifNull: ['$expiresAt', expiresAt] },
      },
    },
  ]
  return { updateOne: { filter: { _id: id, tokens: { $lte: limit - full } }, update, upsert: true } }
}

/** The positions of those writes that found their document there, and not as they need it. */
async function refusedBy(written: Promise<unknown>): Promise<number[]> {
  try {
    await written
    return []
  } catch (error) {
    if (!(error instanceof mongo.MongoBulkWriteError)) throw error
    const failures = [error.writeErrors].flat()
    const isDurable = error.result.getWriteConcernError() === undefined
    if (!isDurable || !failures.every((failure) => isDuplicate(failure))) throw error
    return failures.map(({ index }) => index)
  }
}

const LEASE_OVER = { $not: [{ $gt: ['$pendingUntil', '$$NOW'] }] }
/** The tokens of a count that calls in flight hold. */
const PENDING = { $cond: [LEASE_OVER, 0, { $ifNull: ['$pending', 0] }] }

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
        pending: PENDING,
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

/** One update for each count, however many calls it settles. */
export function settlementsOf(settlements: readonly Settlement[]): mongo.AnyBulkWriteOperation<UsedTokens>[] {
  const counts = new Map<string, { reserved: number; difference: number }>()
  for (const { reservation, tokens } of settlements)
    for (const part of reservation) {
      const { reserved, difference } = counts.get(part.id) ?? { reserved: 0, difference: 0 }
      counts.set(part.id, { reserved: reserved + part.tokens, difference: difference + tokens - part.tokens })
    }
  return [...counts].map(([id, { reserved, difference }]) => {
    const pending = { $max: [0, { $subtract: [{ $ifNull: ['$pending', 0] }, reserved] }] }
    const tokens = { $max: [0, { $add: ['$tokens', difference] }] }
    return { updateOne: { filter: { _id: id }, update: [{ $set: { tokens, pending } }] } }
  })
}
