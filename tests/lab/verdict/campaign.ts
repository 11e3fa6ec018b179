import type { CampaignAccount } from '@parley/local/demo/campaign/account'

/** A claimed send leaves within so long, or not at all; with a margin for the clocks of two processes. */
const CLAIM_MS = 4_500

/** The results of a run. */
export interface CampaignRunResult {
  people: number
  account: CampaignAccount
  /** People who had agreed, had not opted out, and got nothing. */
  missed: number
  /** People who had opted out before their send was claimed, and got it all the same. */
  afterOptOut: number
  optOuts: number
  /** How often the number was refused for its rate. */
  overRate: number
  toCome: number
  /** Where it stands, and why it stopped where it did. */
  state: string
  passed: boolean
}

/** Judges a run by the simulator's ledger, the results, and who opted out when. */
export function verdictOf(run: {
  people: readonly { phone: string; hasConsent: boolean }[]
  sends: readonly { to: string; at: number }[]
  optOuts: ReadonlyMap<string, number>
  /** The people who have opted out at a time that is not known. */
  unanswered: ReadonlySet<string>
  account: CampaignAccount
  overRate: number
  toCome: number
  state: string
}): CampaignRunResult {
  const { people, sends, optOuts, unanswered, account, overRate, toCome, state } = run
  const receivers = new Set(sends.map(({ to }) => to))
  const optedOut = new Set([...optOuts.keys(), ...unanswered])
  const missed = people.filter(
    ({ phone, hasConsent }) => hasConsent && !optedOut.has(phone) && !receivers.has(phone),
  ).length
  const afterOptOut = sends.filter(
    ({ to, at }) => at > (optOuts.get(to) ?? Number.POSITIVE_INFINITY) + CLAIM_MS,
  ).length
  const { doubled, unaccounted, againstConsent, difference } = account
  const wrong = doubled + unaccounted + againstConsent + missed + afterOptOut + overRate + toCome
  return {
    ...{
      people: people.length,
      account,
      missed,
      afterOptOut,
      optOuts: optedOut.size,
      overRate,
      toCome,
      state,
    },
    passed: wrong === 0 && difference === 0 && state === 'finished',
  }
}
