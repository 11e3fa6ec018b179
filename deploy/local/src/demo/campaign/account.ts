import { z } from 'zod'

const counted = z.array(z.looseObject({ reason: z.string(), recipients: z.int() }))

/** The outcome of a campaign as the API reports it. */
export const campaignResults = z.looseObject({
  audience: z.int(),
  toCome: z.int(),
  leftOut: z.int(),
  states: z.record(z.string(), z.int()),
  leftOutBy: counted,
  failedBy: z.array(z.looseObject({ code: z.string(), recipients: z.int() })),
  optedOut: z.int(),
  categories: z.array(z.looseObject({ category: z.string(), recipients: z.int() })),
})
export type CampaignResults = z.output<typeof campaignResults>

/** A message that the simulator took. */
export interface LedgerSend {
  to: string
  at: number
}

/** The simulator's ledger compared with the API's report, and the people who must not be written to. */
export interface CampaignAccount {
  sends: number
  /** Sends to somebody who had got one. */
  doubled: number
  /** Sends that the API has under no state. */
  unaccounted: number
  /** People who had not agreed, or had opted out, and got one all the same. */
  againstConsent: number
  /** People of the audience in none of the rows. */
  difference: number
  busiestSecond: number
}

/** States of a message that the provider took. */
const TAKEN = ['sent', 'delivered', 'read', 'failed']
/** Of the states, those that make rows of their own in the account. */
export const ENDS = [...TAKEN, 'dead'] as const
const SECOND_MS = 1_000

/** Counts a campaign by the simulator's ledger and by the API's results. */
export function accountOf(
  results: CampaignResults,
  { people, sends, refused }: { people: number; sends: readonly LedgerSend[]; refused: ReadonlySet<string> },
): CampaignAccount {
  const receivers = new Set(sends.map(({ to }) => to))
  const sum = (states: readonly string[]) =>
    states.reduce((all, state) => all + (results.states[state] ?? 0), 0)
  const leftOut = results.leftOutBy.reduce((all, { recipients }) => all + recipients, 0)
  return {
    sends: sends.length,
    doubled: sends.length - receivers.size,
    unaccounted: Math.abs(receivers.size - sum(TAKEN)),
    againstConsent: receivers.intersection(refused).size,
    difference: people - leftOut - sum(ENDS) - results.toCome,
    busiestSecond: busiestSecond(sends.map(({ at }) => at)),
  }
}

/** True where everybody got what they were to get, once, and nobody else anything. */
export const isWhole = (
  { doubled, unaccounted, againstConsent, difference, busiestSecond: busiest }: CampaignAccount,
  perSecond: number,
): boolean => doubled + unaccounted + againstConsent + Math.abs(difference) === 0 && busiest <= perSecond

/** The most in any second, wherever it begins; times in milliseconds. */
export function busiestSecond(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  let [most, first] = [0, 0]
  sorted.forEach((at, last) => {
    while ((sorted[first] ?? at) <= at - SECOND_MS) first++
    most = Math.max(most, last - first + 1)
  })
  return most
}
