import { z } from 'zod'
import type { NewsBehaviour } from './status-poster.ts'

const count = z.int().min(1).max(1_000_000)

/** How to misbehave: every n-th send fails, answers come late or every n-th never, news come twice or reversed. */
export const behaviour = z.strictObject({
  failEvery: z
    .strictObject({ n: count, status: z.int().min(400).max(599), code: z.int().min(0).max(999_999) })
    .optional(),
  stallMs: z.int().min(0).max(120_000).optional(),
  dropAnswerEvery: count.optional(),
  reads: z.boolean().optional(),
  repeats: z.boolean().optional(),
  reorders: z.boolean().optional(),
})

export type Behaviour = z.output<typeof behaviour>

/** What happens to one send. */
export interface Turn {
  failure: { status: number; code: number } | undefined
  stallMs: number
  dropsAnswer: boolean
  news: NewsBehaviour
}

export interface Behaviours {
  /** Replaces the behaviour of one phone number, or of all that have none of their own; counting starts anew. */
  set(behaviour: Behaviour, phoneNumberId?: string): void
  /** What is to happen to the next send of a phone number. */
  next(phoneNumberId: string): Turn
}

const MAX_NUMBERS = 10_000

export function createBehaviours(): Behaviours {
  let general = { behaviour: {} as Behaviour, count: 0 }
  const own = new Map<string, typeof general>()
  return {
    set(behaviour, phoneNumberId) {
      const entry = { behaviour, count: 0 }
      if (phoneNumberId === undefined) {
        general = entry
        return
      }
      own.delete(phoneNumberId)
      own.set(phoneNumberId, entry)
      const [oldest] = own.keys()
      if (own.size > MAX_NUMBERS && oldest !== undefined) own.delete(oldest)
    },
    next(phoneNumberId) {
      const entry = own.get(phoneNumberId) ?? general
      entry.count++
      const { failEvery, stallMs = 0, dropAnswerEvery, reads, repeats, reorders } = entry.behaviour
      const isTurn = (every: number | undefined) => every !== undefined && entry.count % every === 0
      return {
        failure: isTurn(failEvery?.n) ? failEvery : undefined,
        stallMs,
        dropsAnswer: isTurn(dropAnswerEvery),
        news: { reads, repeats, reorders },
      }
    },
  }
}
