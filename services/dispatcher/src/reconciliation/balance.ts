import { MESSAGE_STATES } from '../message/message-record.ts'
import type { Count } from './count.ts'

/** What came in against what became of it. */
export interface Balance {
  /** Different ids, whether the audit has come to them yet or not. */
  accepted: number
  done: number
  sent: number
  delivered: number
  read: number
  failed: number
  dead: number
  unrouted: number
  rejected: number
  inFlight: number
  /** Accepted less all that is above; anything but 0 is a fault. */
  difference: number
  /** Of the accepted ones those that are stored, but were not seen in the log (yet). */
  unaudited: number
}

const ENDS = ['done', 'sent', 'delivered', 'read', 'failed', 'dead', 'unrouted'] as const

/**
 * Adds up counts. An id of the log that is in the store counts by its state there; one that is nowhere is in flight
 * until its time is over, then it is missing from the sum, as is one that the store has lost.
 */
export function balance(counts: Pick<Count, 'what' | 'count'>[]): Balance {
  const sum = (what: Count['what']) =>
    counts.reduce((total, one) => total + (one.what === what ? one.count : 0), 0)
  const ends = Object.fromEntries(ENDS.map((state) => [state, sum(state)])) as Pick<
    Balance,
    (typeof ENDS)[number]
  >
  const stored = MESSAGE_STATES.reduce((total, state) => total + sum(state), 0)
  const working = sum('received') + sum('handled') + sum('sending')
  const unaudited = Math.max(0, stored - sum('stored'))
  const vanished = Math.max(0, sum('stored') - stored)
  return {
    accepted: sum('stored') + unaudited + sum('rejected') + sum('missing'),
    ...ends,
    rejected: sum('rejected'),
    inFlight: working + sum('missing') - sum('lost'),
    difference: sum('lost') + vanished,
    unaudited,
  }
}

/** One balance for each channel or hour, in the order of their keys. */
export function balances(counts: Count[]): Array<Balance & { key: Count['key'] }> {
  return [...Map.groupBy(counts, ({ key }) => key)]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, ofKey]) => ({ key, ...balance(ofKey) }))
}

/** The sum of balances. */
export function total(balances: Balance[]): Balance {
  const zero = balance([])
  const fields = Object.keys(zero) as (keyof Balance)[]
  const sum = (field: keyof Balance) => balances.reduce((before, one) => before + one[field], 0)
  return Object.fromEntries(fields.map((field) => [field, sum(field)])) as unknown as Balance
}
