import { insertNew } from '@parley/shared/insert-new'
import type { Log } from '@parley/shared/log'
import { isUnavailable } from '@parley/shared/unavailable'
import type { Collections } from '../../store/collections.ts'
import type { UsageEntry } from '../../store/usage-records.ts'
import type { Settlement } from './budget-counts.ts'
import type { Budgets } from './budgets.ts'

const WRITE_FOR_MS = 60_000
const WRITE_AGAIN_MS = 500
const RETENTION_MS = 3 * 24 * 60 * 60 * 1_000

/** The records that are written for one call. */
export interface UsedByCall {
  entries: UsageEntry[]
  /** Where something was reserved for it. */
  settlement?: Settlement
  /** Where nothing was: the count that its tokens are added to, unless the entry of this id is there already. */
  added?: { entry: string; count: string; tokens: number }
}

type UsageCollections = Pick<Collections, 'usage' | 'usedTokens'>

/**
 * Writes what calls took. While the database is unavailable the entries are tried again, for a minute; a settlement is
 * not, since nobody knows whether it was made, and what was reserved then stays counted.
 */
export async function writeUsage(
  {
    collections,
    budgets,
    log,
  }: { collections: UsageCollections; budgets: Pick<Budgets, 'settle'>; log: Log },
  calls: readonly UsedByCall[],
): Promise<void> {
  const settlements = calls.flatMap(({ settlement }) => settlement ?? [])
  const settled = budgets
    .settle(settlements)
    .catch((err: unknown) => log.warn({ err }, 'tokens of models stay counted as they were reserved'))
  await Promise.all([settled, writeEntries(collections, calls)])
}

async function writeEntries(collections: UsageCollections, calls: readonly UsedByCall[]): Promise<void> {
  const entries = calls.flatMap((call) => call.entries)
  const deadline = performance.now() + WRITE_FOR_MS
  for (let isFirst = true; ; isFirst = false) {
    try {
      const found = await insertNew(collections.usage, entries)
      // Entries found later may come from an insert whose response was lost, so they count: rather twice than never.
      const known = new Set(isFirst ? found.map(({ _id }) => _id) : [])
      return await addTokens(
        collections,
        calls.flatMap(({ added }) => (added === undefined || known.has(added.entry) ? [] : added)),
      )
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, WRITE_AGAIN_MS))
    }
  }
}

/** A crash between the two writes leaves the tokens of a batch out of the count, never out of the usage. */
async function addTokens(
  { usedTokens }: UsageCollections,
  added: { count: string; tokens: number }[],
): Promise<void> {
  const counts = new Map<string, number>()
  for (const { count, tokens } of added) counts.set(count, (counts.get(count) ?? 0) + tokens)
  const writes = [...counts].filter(([, tokens]) => tokens > 0)
  if (writes.length === 0) return
  const expiresAt = new Date(Date.now() + RETENTION_MS)
  await usedTokens.bulkWrite(
    writes.map(([_id, tokens]) => ({
      updateOne: { filter: { _id }, update: { $inc: { tokens }, $setOnInsert: { expiresAt } }, upsert: true },
    })),
    { ordered: false },
  )
}
