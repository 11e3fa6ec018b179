import { group } from '@parley/shared/group'
import { LRUCache } from 'lru-cache'
import type { Collections } from '../../store/collections.ts'
import {
  type Asked,
  type Granted,
  grantAll,
  grantAllFull,
  isPossible,
  type Required,
  type Reservation,
  type Settlement,
  settlementsOf,
  usedOf,
} from './budget-counts.ts'
import type { Budget } from './budgets-of.ts'

/** A call waits so long for others, which takes seconds itself. */
const GATHER_MS = 20
/** No call takes less: the prompt of any agent alone is longer. */
const SMALLEST_CALL = 64
const MAX_KNOWN = 50_000
const KNOWN_MS = 10_000
/**
 * Who waits for calls under way tries again after that, and so long after the one before: each try makes a prompt, and
 * those of one person may not take a processor from all others.
 */
const PENDING_MS = 200
const SPACING_MS = 50

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

export function createBudgets(options: {
  usedTokens: Collections['usedTokens']
  now: () => number
}): Budgets {
  const { usedTokens, now } = options
  // The settled tokens of a day only grow, unless a call is settled whose lease was over.
  const known = new LRUCache<string, number>({ max: MAX_KNOWN, ttl: KNOWN_MS })
  const queues = new LRUCache<string, number>({ max: MAX_KNOWN })
  const gathered = { inNoHurry: { milliseconds: GATHER_MS, before: 'each' as const }, atOnce: 1 }
  const grantFull = group<Asked, boolean>({
    work: (batch) => grantAllFull(usedTokens, batch, now()),
    ...gathered,
  })
  // Many calls at once of one workspace are one write to its count.
  const grant = group<Asked, Granted | Error>({
    work: (batch) => grantAll(usedTokens, batch, now()),
    ...gathered,
  })
  const settle: Budgets['settle'] = async (settlements) => {
    const writes = settlementsOf(settlements)
    if (writes.length > 0) await usedTokens.bulkWrite(writes, { ordered: false })
  }
  /** All that it may take, of all budgets at once: what most calls get, many of them by one statement. */
  const reserveFull = async (asked: Asked[]): Promise<Reservation | undefined> => {
    if (!asked.every(isPossible)) return undefined
    const granted = await Promise.all(asked.map((one) => grantFull(one)))
    const reservation = asked.filter((_, at) => granted[at]).map(({ id, full }) => ({ id, tokens: full }))
    if (reservation.length === asked.length) return reservation
    if (reservation.length > 0) await settle([{ reservation, tokens: 0 }])
    return undefined
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
      const asked: Asked[] = await Promise.all(
        budgets.map(async ({ id, limit, including }) => {
          return { id, limit: limit - (await usedOf(usedTokens, including)), ...required }
        }),
      )
      const full = await reserveFull(asked)
      if (full !== undefined) return { kind: 'reserved', reservation: full, tokens: required.full }
      const reservation: Reservation = []
      for (const [at, budget] of budgets.entries()) {
        const { id, limit } = asked[at] as Asked
        const granted = await grant(asked[at] as Asked)
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
