import { ENDS } from './account.ts'
import type { CampaignDemoResult } from './run-campaign-demo.ts'

const LABEL = 50
const FIGURE = 12

/** Shows what became of everybody, and that nobody is missing, at most 80 columns wide. */
export function campaignText({ results, account, people, pausedAfter }: CampaignDemoResult): string {
  const { states, leftOutBy, failedBy, toCome, optedOut, categories } = results
  return [
    '',
    line('Audience', people),
    ...leftOutBy.map(({ reason, recipients }) => line(`  left out: ${reason}`, recipients)),
    ...ENDS.map((state) => line(`  ${state}`, states[state] ?? 0)),
    ...failedBy.map(({ code, recipients }) => line(`    of these: ${code}`, recipients)),
    line('  still to come', toCome),
    line('  difference', account.difference),
    '',
    line('Messages that the simulator took', account.sends),
    line('  of them before the template was paused', pausedAfter),
    line('  to somebody who had got one', account.doubled),
    line('  to somebody who had not agreed, or opted out', account.againstConsent),
    line('  that have no state', account.unaccounted),
    line('  in the busiest second', account.busiestSecond),
    ...categories.map(({ category, recipients }) => line(`  priced as ${category}`, recipients)),
    line('Opted out after their message', optedOut),
  ].join('\n')
}

const line = (label: string, figure: number): string =>
  label.padEnd(LABEL) + figure.toLocaleString('en-US').padStart(FIGURE)
