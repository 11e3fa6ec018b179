import { KINDS, type Kind } from './fuzz-case.ts'
import { ORACLES, type Oracle } from './judge.ts'

/** A case that broke an oracle, as small as it got. */
interface FuzzFinding {
  signature: string
  reproduction: string
}

/** What a run has seen so far. */
export interface Tally {
  sent: Record<Kind, number>
  statuses: Map<number, number>
  failures: Record<Oracle, number>
  findings: FuzzFinding[]
  count(kind: Kind, statuses: readonly number[], oracles: readonly Oracle[]): void
  total(): number
  share(status: number): number
}

export const zeros = <K extends string>(keys: readonly K[]) =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>

export function createTally(): Tally {
  const tally: Tally = {
    sent: zeros(KINDS),
    statuses: new Map(),
    failures: zeros(ORACLES),
    findings: [],
    count: (kind, statuses, oracles) => {
      tally.sent[kind]++
      for (const status of statuses) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
      for (const oracle of oracles) tally.failures[oracle]++
    },
    total: () => Object.values(tally.sent).reduce((sum, each) => sum + each, 0),
    share: (status) => (tally.statuses.get(status) ?? 0) / Math.max(1, tally.total()),
  }
  return tally
}
